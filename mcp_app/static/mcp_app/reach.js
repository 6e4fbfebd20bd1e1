// Says beneath the form which tools the token would open, as it is filled in so far.
"use strict";

const place = document.getElementById("mcp-reach");
const ASKED = ["user", "scopes", "tools_limit", "tools_names", "read_only"];
let latest = 0;

async function ask() {
    const said = [...new FormData(place.closest("form"))].filter(([name]) => ASKED.includes(name));
    const number = (latest += 1);
    const answer = await fetch(`${place.dataset.url}?${new URLSearchParams(said)}`);
    const text = answer.ok ? await answer.text() : "";
    if (number === latest) {
        place.innerHTML = text;
    }
}

if (place) {
    // The admin's list of users tells jQuery alone. Other scripts first take away what is not sent.
    window.django.jQuery(place.closest("form")).on("change", () => setTimeout(ask));
    window.addEventListener("pageshow", () => setTimeout(ask));
}
