// Shows calls as they begin and end. It asks, on a socket or by HTTP, what is new since what it has,
// and is answered in the same words; so a lost connection costs nothing, and nothing comes twice.
"use strict";

const POLL_MS = 3000;
const SILENT_MS = 45000;
const LONGEST_PAUSE_MS = 30000;
const NOT_ALLOWED = 4403;
const TOO_MANY = 4429;

const root = document.getElementById("mcp-tail");
const texts = root.dataset;
const most = Number(texts.most);
const list = document.getElementById("mcp-tail-rows");
const labels = [...root.querySelectorAll("thead th")].map((cell) => cell.textContent);

// Calls by key: { open, waits, element }. A call that is not shown (yet) has no element.
const calls = new Map();
let cursor = "";
let floor = 0;
let paused = false;
let over = false;
let socket = null;
let failures = 0;
let timer = 0;
let watchdog = 0;
let turn = 0; // of going on after a pause: an answer from before it is nobody's

function say(text) {
    const status = document.getElementById("mcp-tail-status");
    if (status.textContent !== text) {
        status.textContent = text;
    }
}

// --- what is asked -----------------------------------------------------------------------------

function question() {
    const asked = new URLSearchParams(texts.query);
    for (const name of ["cursor", "have", "open", "waits", "floor"]) {
        asked.delete(name);
    }
    if (cursor) {
        asked.set("cursor", cursor);
        const keys = (are) => [...calls].filter(([, call]) => are(call)).map(([key]) => key).join();
        asked.set("have", keys((call) => !call.open));
        asked.set("open", keys((call) => call.open));
        asked.set("waits", keys((call) => call.waits));
        asked.set("floor", floor);
    }
    return asked.toString();
}

// --- what is shown -----------------------------------------------------------------------------

function element(tag, text, className) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) {
        made.className = className;
    }
    return made;
}

function link(text, url) {
    if (!url) {
        return document.createTextNode(text);
    }
    const made = element("a", text);
    made.href = url;
    return made;
}

function twoLines(cell, first, second) {
    cell.replaceChildren(first, document.createElement("br"), element("span", second, "mcp-quiet"));
}

function tell(call, row) {
    const cell = call.element.lastElementChild;
    const badge = element("span", row.outcome, `mcp-badge mcp-badge-${row.tone}`);
    twoLines(cell, badge, row.duration);
    if (row.stop_url) {
        const stop = link(texts.stop, row.stop_url);
        stop.className = "mcp-stop";
        stop.setAttribute("aria-label", `${texts.stop}: ${row.call}`);
        cell.append(" ", stop);
    }
    call.element.classList.toggle("mcp-running", row.open);
}

function build(key, row) {
    const made = document.createElement("tr");
    made.dataset.key = key;
    const cells = labels.map((label, index) => {
        const cell = document.createElement(index ? "td" : "th");
        if (!index) {
            cell.scope = "row";
        }
        cell.dataset.label = label;
        return cell;
    });
    made.append(...cells);
    twoLines(cells[0], link(`${row.day} ${row.time}`, row.url), row.zone);
    twoLines(cells[1], document.createTextNode(row.call || "-"), row.client || "-");
    twoLines(cells[2], document.createTextNode(row.user || "-"), row.token || "-");
    const below = [...list.children].find((each) => Number(each.dataset.key) < key);
    list.insertBefore(made, below || null);
    return made;
}

function take(row) {
    const known = calls.get(row.id);
    const call = { open: row.open, waits: row.waits, element: known ? known.element : null };
    calls.set(row.id, call);
    if (row.shown) {
        call.element = call.element || build(row.id, row);
        tell(call, row);
    } else {
        remove(row.id, call);
    }
}

function remove(key, call) {
    if (call.element) {
        call.element.remove();
        call.element = null;
    }
    if (!call.open) {
        calls.delete(key);
        // A call that ended otherwise than is wanted is not sent again, but for its key.
    }
}

// Calls that run are kept the longest.
function trim() {
    const keys = [...calls.keys()].sort((a, b) => a - b);
    const ended = keys.filter((key) => !calls.get(key).open);
    for (const key of [...ended, ...keys.filter((each) => calls.get(each).open)]) {
        if (calls.size <= most) {
            break;
        }
        const call = calls.get(key);
        call.open = false;
        remove(key, call);
        floor = Math.max(floor, key);
    }
}

function show(news) {
    for (const key of news.gone) {
        const call = calls.get(key);
        if (call) {
            call.open = false;
            remove(key, call);
        }
    }
    news.rows.forEach(take);
    trim();
    cursor = news.cursor;
    if (news.skipped) {
        document.getElementById("mcp-tail-skipped").hidden = false;
    }
    document.getElementById("mcp-tail-empty").hidden = list.childElementCount > 0;
}

// --- how it is asked ---------------------------------------------------------------------------

function end(text) {
    over = true;
    clearTimeout(timer);
    clearTimeout(watchdog);
    button.disabled = true;
    say(text);
}

function ask() {
    clearTimeout(watchdog);
    if (paused || over || !isOpen()) {
        return;
    }
    const asking = socket;
    socket.send(question());
    watchdog = setTimeout(() => lose(asking), SILENT_MS);
}

// A line that is dead without a word has no end of its own.
function lose(dead) {
    if (socket === dead) {
        dead.close();
        closed(dead, false, 0);
    }
}

function connect() {
    if (over || paused) {
        return;
    }
    if (texts.socket !== "yes") {
        poll();
        return;
    }
    let opened = false;
    const made = new WebSocket(`${location.origin.replace(/^http/, "ws")}${location.pathname}`);
    socket = made;
    made.addEventListener("open", () => {
        opened = true;
        ask();
    });
    made.addEventListener("message", (event) => {
        if (socket !== made) {
            return;
        }
        failures = 0;
        show(JSON.parse(event.data));
        if (!paused) {
            say(texts.live);
            ask();
        }
    });
    made.addEventListener("close", (event) => closed(made, !opened, event.code));
}

function closed(which, neverOpened, code) {
    if (socket !== which || over) {
        return;
    }
    socket = null;
    clearTimeout(watchdog);
    if (code === NOT_ALLOWED || code === TOO_MANY) {
        end(code === TOO_MANY ? texts.many : texts.over);
    } else if (!paused) {
        failures += 1;
        if (!neverOpened) {
            say(texts.lost);
        }
        retry(neverOpened);
    }
}

// Between two attempts to open a socket that cannot be opened, the page polls.
function retry(polls) {
    const pause = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** Math.min(failures, 6)) * (0.75 + Math.random() / 2);
    clearTimeout(timer);
    if (polls) {
        poll(Date.now() + pause);
    } else {
        timer = setTimeout(connect, pause);
    }
}

async function poll(until = Infinity) {
    const mine = turn;
    let answer = null;
    try {
        answer = await fetch(`${texts.rows}?${question()}`, { redirect: "manual", headers: { Accept: "application/json" } });
    } catch {
        say(texts.lost);
    }
    if (over || paused || turn !== mine) {
        return;
    }
    if (answer && (answer.type === "opaqueredirect" || answer.status === 403)) {
        end(texts.over);
        return;
    }
    if (answer && answer.ok) {
        show(await answer.json());
        say(texts.polls);
    } else {
        say(texts.lost);
    }
    clearTimeout(timer);
    timer = setTimeout(() => (Date.now() > until ? connect() : poll(until)), POLL_MS);
}

function isOpen() {
    return socket !== null && socket.readyState === WebSocket.OPEN;
}

function pause() {
    paused = true;
    clearTimeout(timer);
    clearTimeout(watchdog);
    say(texts.paused);
    if (isOpen()) {
        socket.send("pause");
    }
}

function goOn() {
    paused = false;
    turn += 1;
    failures = 0;
    if (isOpen()) {
        say(texts.live);
        ask();
    } else {
        socket = null;
        connect();
    }
}

const button = document.getElementById("mcp-tail-pause");
button.addEventListener("click", () => {
    (paused ? goOn : pause)();
    button.textContent = paused ? texts.resume : texts.pause;
});
button.disabled = false;
// A page that is kept for "back" has lost its socket when it is shown again.
window.addEventListener("pageshow", (event) => event.persisted && !paused && !socket && connect());
connect();
