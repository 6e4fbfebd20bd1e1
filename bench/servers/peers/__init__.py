"""Other people's servers, each offering the tools of the bench as its documentation shows it.

Each runs in an environment of its own (`bench.environments`). `BENCH_TOOLS` adds tools of five
parameters; `BENCH_TOKEN=1` makes a Django peer ask for a token.
"""
