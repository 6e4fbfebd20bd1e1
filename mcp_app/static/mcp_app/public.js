// Cuts a secret that is pasted into what is sent in an address to its public prefix, and says so
// beside the field: what an address has, browsers and servers keep.
"use strict";

const { cut } = document.currentScript.dataset;
const SECRET = /(mcp_[0-9A-Za-z]{12})_[0-9A-Za-z]{8,}/g;
const TEXTS = "input:not([type]), input[type=text], input[type=search]";

/** Also what no form sends: a script then asks for it. The property may be a field of that name. */
function isInAddress(form) {
    return (form?.getAttribute("method") ?? "get").toLowerCase() === "get";
}

function tell(field) {
    const note = document.createElement("p");
    note.className = "mcp-note mcp-cut";
    note.setAttribute("role", "status");
    field.closest("p, div, form").after(note);
    // A status is read out where its text changes.
    note.textContent = cut;
}

function keepPublic(field) {
    const shown = field.value.replace(SECRET, "$1");
    if (shown === field.value) {
        return;
    }
    field.value = shown;
    if (field.form && !document.querySelector(".mcp-cut")) {
        tell(field);
    }
}

// Before any other script reads it.
document.addEventListener("input", ({ target }) => {
    if (target.matches(TEXTS) && isInAddress(target.form)) {
        keepPublic(target);
    }
}, true);

// What a browser filled in itself was no input.
document.addEventListener("submit", ({ target }) => {
    if (isInAddress(target)) {
        target.querySelectorAll(TEXTS).forEach(keepPublic);
    }
}, true);
