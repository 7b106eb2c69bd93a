"""Tools that know nothing of pilots; internal, except `Nouns` of `words`."""
