"""The endpoint inside other people's projects: their middleware, their users, their databases."""
