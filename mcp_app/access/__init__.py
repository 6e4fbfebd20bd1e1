"""May it run: DRF permission and throttle classes, asked on behalf of whatever is declared."""
