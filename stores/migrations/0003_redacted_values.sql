-- What was redacted once is known again wherever it comes back: a keyed hash of each such value (the
-- key lies beside the database), under its length in characters, so that a text without a word of
-- that length costs no hash. Derived from nothing that is kept: never rebuilt, and of no use elsewhere.
CREATE TABLE redacted(size INTEGER NOT NULL, hmac BLOB NOT NULL CHECK(length(hmac) = 16), kind TEXT NOT NULL,
  PRIMARY KEY(size, hmac)) STRICT, WITHOUT ROWID;

-- INSERT_ONLY -: redacted
