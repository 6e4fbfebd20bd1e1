"""Who is calling: tokens, secrets, sessions. What a caller may then do is not known here."""
