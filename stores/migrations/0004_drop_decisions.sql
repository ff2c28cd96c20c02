-- The user drops a decision: an event with the user's message as its source. A dropped decision is
-- history; what it superseded stays superseded. Body: reason.
CREATE TABLE decision_event(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  decision INTEGER NOT NULL REFERENCES decision(seq), source INTEGER NOT NULL REFERENCES entry(seq),
  event TEXT NOT NULL CHECK(event IN ('dropped')), UNIQUE(decision, event)) STRICT;
CREATE TRIGGER decision_event_evidence BEFORE INSERT ON decision_event
  WHEN NOT EXISTS(SELECT 1 FROM entry WHERE seq = NEW.source AND role = 'user' AND channel = 'user')
  BEGIN SELECT raise(ABORT, 'decision_event: only the user drops a decision'); END;

DROP VIEW decision_active;
CREATE VIEW decision_active AS
  SELECT d.*, j.workspace, j.number, j.window, j.task, j.at, j.agent FROM decision d CROSS JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM decision n WHERE n.supersedes = d.seq)
  AND NOT EXISTS(SELECT 1 FROM decision_event e WHERE e.decision = d.seq)
  AND NOT EXISTS(SELECT 1 FROM erasure x WHERE x.target = d.seq);

-- INSERT_ONLY seq: decision_event
