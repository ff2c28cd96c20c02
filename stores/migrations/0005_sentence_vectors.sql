-- Derived: the vectors of the sentences of a message's passage, which a question meets better than the whole.
CREATE TABLE sentence_vector(passage INTEGER NOT NULL REFERENCES passage(id), model INTEGER NOT NULL REFERENCES model(id),
  vec BLOB NOT NULL) STRICT;
CREATE INDEX sentence_vector_passage ON sentence_vector(passage);
