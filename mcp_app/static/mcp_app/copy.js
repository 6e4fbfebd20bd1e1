// Copies the text of the element that a button's data-copy names, and says so.
"use strict";

function select(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
}

async function copy(element) {
    try {
        // Without TLS, or where a policy forbids it, there is no clipboard interface.
        await navigator.clipboard.writeText(element.textContent);
        return true;
    } catch {
        select(element);
        return document.execCommand("copy");
    }
}

let told = null;

function tell(label) {
    if (told) {
        told.textContent = told.dataset.before;
    }
    label.dataset.before ??= label.textContent;
    label.textContent = label.dataset.copied;
    told = label;
    document.querySelector("[data-copy-status]").textContent = label.dataset.copied;
}

for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
        if (await copy(document.getElementById(button.dataset.copy))) {
            tell(button.querySelector("[data-copied]"));
        }
    });
}
