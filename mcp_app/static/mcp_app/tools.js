// Lets tools be ticked only while "only these" is chosen: what is folded away is not sent.
"use strict";

function follow() {
    const only = document.querySelector("[name=tools_limit][value=only]");
    for (const box of document.querySelectorAll("[name=tools_names]")) {
        box.disabled = !only.checked;
    }
}

document.addEventListener("change", follow);
// After it was loaded, and after the browser brought it back as it was left.
window.addEventListener("pageshow", follow);
