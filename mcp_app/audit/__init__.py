"""What happened: call events, redacted and written in groups.

Knows the models, the settings and the records of dispatch. Knows nothing of who may call what.
"""
