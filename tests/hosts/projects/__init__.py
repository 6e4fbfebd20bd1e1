"""Settings modules of host projects, and what must hold in each; `test_projects` runs them."""
