// Copies the text of the element that a button's data-copy names.
"use strict";

async function copy(element) {
    if (window.isSecureContext && navigator.clipboard) {
        await navigator.clipboard.writeText(element.textContent);
        return;
    }
    // Without TLS there is no clipboard interface; the selection still works.
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    document.execCommand("copy");
}

for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
        await copy(document.getElementById(button.dataset.copy));
        button.textContent = button.dataset.copied;
    });
}
