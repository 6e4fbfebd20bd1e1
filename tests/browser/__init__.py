"""The admin's pages in Debian's Chromium, on a live server; `make browser`."""
