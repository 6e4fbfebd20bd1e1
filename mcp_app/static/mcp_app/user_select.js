// Names the boxes of the admin's autocompletion for those who hear the page: Django leaves that out.
"use strict";

window.django.jQuery(() => {
    for (const select of document.querySelectorAll("select[data-name]")) {
        for (const box of select.parentElement.querySelectorAll("[role=textbox]")) {
            box.setAttribute("aria-label", select.dataset.name);
        }
    }
});
