"""Who is calling: tokens, sign-ins, seats, and limits."""
