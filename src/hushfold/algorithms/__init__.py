"""One algorithm, one file: functions over frozen public state, each step one pass and one release."""
