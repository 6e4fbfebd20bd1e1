"""What people fill in about tokens: the admin and the account's pages ask the same way.

Forms check what was typed; `auth.tokens` decides what is done.
"""
