-- Every insert-only record is one journal row, which is one link of the hash chain and seals
-- the rows inserted just before it. `seq` orders everything; "as of" is seq <= :n.
-- Words live in body and tag only, so that an erasure can remove them while digests (over
-- salted hashes, kept in content) still verify.
-- INSERT_ONLY marks tables for which the migration runner writes the guard triggers.

CREATE TABLE meta(key TEXT PRIMARY KEY, value ANY NOT NULL) STRICT;
CREATE TABLE workspace(id INTEGER PRIMARY KEY, root TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO workspace(id, root) VALUES(0, 'user:*');

CREATE TABLE journal(
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  number INTEGER CHECK(number > 0),              -- with kind the record's id; NULL for events
  workspace INTEGER NOT NULL REFERENCES workspace,
  window INTEGER, task INTEGER, item INTEGER,    -- seq of the window, task and focus item it was written in
  agent TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL CHECK(origin IN ('model','user','hook','relay','check','import','server')),
  at TEXT NOT NULL,
  digest BLOB NOT NULL CHECK(length(digest) = 32),
  hash BLOB NOT NULL CHECK(length(hash) = 32)) STRICT;
CREATE UNIQUE INDEX journal_id ON journal(kind, number) WHERE number IS NOT NULL;
CREATE INDEX journal_kind ON journal(workspace, kind, seq);
CREATE INDEX journal_window ON journal(window, kind, seq);
CREATE TRIGGER journal_gapless BEFORE INSERT ON journal
  WHEN NEW.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM journal)
  BEGIN SELECT raise(ABORT, 'journal: seq must follow the head'); END;

CREATE TABLE content(seq INTEGER NOT NULL, field TEXT NOT NULL, digest BLOB NOT NULL CHECK(length(digest) = 32),
  PRIMARY KEY(seq, field)) STRICT, WITHOUT ROWID;
CREATE TABLE body(seq INTEGER NOT NULL, field TEXT NOT NULL, text TEXT NOT NULL, salt BLOB NOT NULL CHECK(length(salt) = 16),
  PRIMARY KEY(seq, field)) STRICT;
CREATE TABLE tag(seq INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(seq, name, value)) STRICT, WITHOUT ROWID;
CREATE INDEX tag_value ON tag(name, value, seq);
CREATE TABLE erasure(seq INTEGER PRIMARY KEY, target INTEGER NOT NULL REFERENCES journal(seq),
  why TEXT NOT NULL CHECK(why IN ('forget','retention'))) STRICT;
CREATE INDEX erasure_target ON erasure(target);
CREATE TRIGGER body_keep BEFORE DELETE ON body WHEN NOT EXISTS(SELECT 1 FROM erasure WHERE target = OLD.seq)
  BEGIN SELECT raise(ABORT, 'body: erase first'); END;
CREATE TRIGGER body_fixed BEFORE UPDATE ON body BEGIN SELECT raise(ABORT, 'body: insert-only'); END;
CREATE TRIGGER tag_keep BEFORE DELETE ON tag WHEN NOT EXISTS(SELECT 1 FROM erasure WHERE target = OLD.seq)
  BEGIN SELECT raise(ABORT, 'tag: erase first'); END;
CREATE TRIGGER tag_fixed BEFORE UPDATE ON tag BEGIN SELECT raise(ABORT, 'tag: insert-only'); END;

-- Archive. Bodies: args, output, output_sha256, path, file_sha256, file_signature. Tags: path, speaker.
CREATE TABLE entry(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  channel TEXT NOT NULL CHECK(channel IN ('hook','relay','import','user','check')),
  level INTEGER NOT NULL CHECK(level BETWEEN 1 AND 4),
  role TEXT NOT NULL DEFAULT '' CHECK(role IN ('','user','assistant','machine')),
  tool TEXT NOT NULL DEFAULT '',
  outer_ref TEXT,                                -- the client's own id; unique within its workspace and channel
  own INTEGER NOT NULL DEFAULT 0,
  is_error INTEGER NOT NULL DEFAULT 0,
  truncated INTEGER NOT NULL DEFAULT 0,
  model_written INTEGER NOT NULL DEFAULT 0,
  workspace INTEGER NOT NULL REFERENCES workspace,
  seen_at TEXT NOT NULL,
  CHECK(role <> 'user' OR channel IN ('user','import'))) STRICT;
CREATE UNIQUE INDEX entry_outer ON entry(workspace, channel, outer_ref) WHERE outer_ref IS NOT NULL;
CREATE INDEX entry_tool ON entry(workspace, tool, seq);
CREATE INDEX entry_role ON entry(workspace, role, seq);

-- Tasks. Bodies: goal, constraints (a JSON list).
CREATE TABLE task(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  task INTEGER NOT NULL, version INTEGER NOT NULL CHECK(version > 0),
  state TEXT NOT NULL CHECK(state IN ('proposed','active','done')),
  source INTEGER REFERENCES entry(seq),
  UNIQUE(task, version), CHECK(state <> 'active' OR source IS NOT NULL)) STRICT;
CREATE TRIGGER task_evidence BEFORE INSERT ON task WHEN NEW.source IS NOT NULL
  AND NOT EXISTS(SELECT 1 FROM entry WHERE seq = NEW.source AND role = 'user' AND channel = 'user')
  BEGIN SELECT raise(ABORT, 'task: only the user gives a goal'); END;

-- Windows. Bodies: work_tree; of events: doing, next, noticed, summary.
CREATE TABLE window(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  client TEXT NOT NULL, session TEXT NOT NULL,
  host_pid INTEGER NOT NULL DEFAULT 0, host_started TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX window_session ON window(session, seq);
CREATE TABLE window_event(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  window INTEGER NOT NULL REFERENCES window(seq),
  event TEXT NOT NULL CHECK(event IN ('joined_task','compacted','summarised','handed_off','ended','found_dead','reconciled')),
  target INTEGER) STRICT;
CREATE INDEX window_event_window ON window_event(window, event);

-- Facts. Bodies: text, subject, expires_when, label. Tags: scope. Events: reason.
CREATE TABLE fact(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  kind TEXT NOT NULL CHECK(kind IN ('observation','inference','instruction-from-user')),
  reported INTEGER NOT NULL DEFAULT 0, model_written INTEGER NOT NULL DEFAULT 0,
  level INTEGER NOT NULL CHECK(level BETWEEN 0 AND 5),   -- the least trusted channel behind it; 5 = the user
  observed_at TEXT NOT NULL, expires_at TEXT,
  confidence REAL NOT NULL CHECK(confidence BETWEEN 0 AND 1),
  CHECK(reported = 0 OR (kind = 'instruction-from-user' AND confidence <= 0.3))) STRICT;
CREATE INDEX fact_kind ON fact(kind, seq);
CREATE TABLE citation(
  owner INTEGER NOT NULL, position INTEGER NOT NULL, entry INTEGER NOT NULL REFERENCES entry(seq),
  start INTEGER NOT NULL, stop INTEGER NOT NULL CHECK(stop >= start), PRIMARY KEY(owner, position)) STRICT, WITHOUT ROWID;
CREATE INDEX citation_entry ON citation(entry, owner);
CREATE TRIGGER citation_evidence BEFORE INSERT ON citation
  WHEN NOT EXISTS(SELECT 1 FROM entry WHERE seq = NEW.entry AND own = 0 AND role IN ('','user'))
  BEGIN SELECT raise(ABORT, 'citation: this entry is no evidence'); END;
CREATE TABLE support(owner INTEGER NOT NULL, rests_on INTEGER NOT NULL REFERENCES journal(seq), PRIMARY KEY(owner, rests_on),
  CHECK(rests_on < owner)) STRICT, WITHOUT ROWID;
CREATE INDEX support_on ON support(rests_on);
CREATE TABLE supersession(old INTEGER NOT NULL REFERENCES fact(seq), new INTEGER NOT NULL, PRIMARY KEY(new, old), CHECK(old < new)) STRICT, WITHOUT ROWID;
CREATE INDEX supersession_old ON supersession(old);
CREATE TABLE dispute(old INTEGER NOT NULL REFERENCES fact(seq), new INTEGER NOT NULL, PRIMARY KEY(new, old), CHECK(old < new)) STRICT, WITHOUT ROWID;
CREATE INDEX dispute_old ON dispute(old);
-- The sealed fact must rest on something: checked when its journal row arrives, after its children.
CREATE TRIGGER fact_evidence BEFORE INSERT ON journal WHEN NEW.kind = 'fact' AND (
  (SELECT kind FROM fact WHERE seq = NEW.seq) = 'observation' AND NOT EXISTS(SELECT 1 FROM citation WHERE owner = NEW.seq)
  OR (SELECT kind FROM fact WHERE seq = NEW.seq) = 'inference' AND (NOT EXISTS(SELECT 1 FROM support WHERE owner = NEW.seq)
    OR EXISTS(SELECT 1 FROM citation WHERE owner = NEW.seq)
    OR EXISTS(SELECT 1 FROM supersession s JOIN fact f ON f.seq = s.old WHERE s.new = NEW.seq AND f.kind <> 'inference'))
  OR (SELECT kind FROM fact WHERE seq = NEW.seq) = 'instruction-from-user' AND (SELECT reported FROM fact WHERE seq = NEW.seq) = 0
    AND NOT EXISTS(SELECT 1 FROM citation c JOIN entry e ON e.seq = c.entry WHERE c.owner = NEW.seq AND e.role = 'user' AND e.channel = 'user')
  OR (SELECT kind FROM fact WHERE seq = NEW.seq) <> 'instruction-from-user' AND EXISTS(SELECT 1 FROM supersession s JOIN fact f ON f.seq = s.old
    WHERE s.new = NEW.seq AND f.kind = 'instruction-from-user' AND f.reported = 0))
  BEGIN SELECT raise(ABORT, 'fact: its evidence cannot back this kind'); END;
CREATE TRIGGER citation_workspace BEFORE INSERT ON journal
  WHEN EXISTS(SELECT 1 FROM citation c JOIN entry e ON e.seq = c.entry WHERE c.owner = NEW.seq AND NEW.workspace <> 0 AND e.workspace NOT IN (NEW.workspace, 0))
  BEGIN SELECT raise(ABORT, 'citation: the entry belongs to another workspace'); END;
CREATE TABLE fact_event(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  fact INTEGER NOT NULL REFERENCES fact(seq), source INTEGER REFERENCES entry(seq),
  event TEXT NOT NULL CHECK(event IN ('corroborated','verified','failed','retracted','confirmed')),
  independent INTEGER NOT NULL DEFAULT 0) STRICT;      -- of a corroboration: its origin was not counted before
CREATE INDEX fact_event_fact ON fact_event(fact, event);

-- Decisions. Bodies: decision, reason, alternatives (a JSON list). Tags: scope.
CREATE TABLE decision(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  supersedes INTEGER UNIQUE REFERENCES decision(seq), CHECK(supersedes < seq)) STRICT;

-- Plan. One row an event, each with the item's full state; bodies: title, description, note, checks. Tags: scope.
CREATE TABLE plan_event(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  item INTEGER NOT NULL, version INTEGER NOT NULL CHECK(version > 0), task INTEGER,
  status TEXT NOT NULL CHECK(status IN ('pending','in_progress','blocked','done','skipped')),
  verified INTEGER NOT NULL DEFAULT 0, evidence INTEGER REFERENCES entry(seq), started_head TEXT,
  UNIQUE(item, version), CHECK(verified = 0 OR evidence IS NOT NULL)) STRICT;
CREATE TABLE plan_dep(event INTEGER NOT NULL, needs INTEGER NOT NULL, PRIMARY KEY(event, needs)) STRICT, WITHOUT ROWID;

-- Questions. Bodies: question, why; answer. Tags: scope.
CREATE TABLE question_event(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  question INTEGER NOT NULL, event TEXT NOT NULL CHECK(event IN ('opened','answered')),
  blocks INTEGER, source INTEGER REFERENCES entry(seq), UNIQUE(question, event)) STRICT;

CREATE TABLE refusal(
  seq INTEGER PRIMARY KEY REFERENCES journal(seq) DEFERRABLE INITIALLY DEFERRED,
  tool TEXT NOT NULL, code TEXT NOT NULL, payload_hmac BLOB NOT NULL) STRICT;

-- INSERT_ONLY seq: erasure entry task window window_event fact fact_event decision plan_event question_event refusal content body tag
-- INSERT_ONLY owner: citation support
-- INSERT_ONLY new: supersession dispute
-- INSERT_ONLY event: plan_dep
-- INSERT_ONLY -: journal

-- Derived: rebuilt at will, not chained. A missing vector row means still to do.
CREATE TABLE model(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL) STRICT;
CREATE TABLE passage(id INTEGER PRIMARY KEY, entry INTEGER NOT NULL REFERENCES entry(seq), field TEXT NOT NULL,
  start INTEGER NOT NULL, stop INTEGER NOT NULL) STRICT;
CREATE INDEX passage_entry ON passage(entry);
CREATE TABLE passage_vector(id INTEGER PRIMARY KEY REFERENCES passage(id), model INTEGER NOT NULL REFERENCES model(id), vec BLOB NOT NULL) STRICT;
CREATE TABLE record_vector(seq INTEGER PRIMARY KEY REFERENCES journal(seq), model INTEGER NOT NULL REFERENCES model(id), vec BLOB NOT NULL) STRICT;
CREATE TABLE served(window INTEGER NOT NULL, head INTEGER NOT NULL, section TEXT NOT NULL, ref INTEGER NOT NULL, score REAL, tokens INTEGER NOT NULL) STRICT;
CREATE INDEX served_ref ON served(ref);
CREATE INDEX served_window ON served(window, ref);
CREATE TABLE request(window INTEGER NOT NULL, digest BLOB NOT NULL, seq INTEGER NOT NULL REFERENCES journal(seq), PRIMARY KEY(window, digest)) STRICT, WITHOUT ROWID;
CREATE TABLE lease(name TEXT PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL) STRICT;

CREATE VIEW passage_text AS
  SELECT p.id, e.tool || ' ' || coalesce((SELECT group_concat(t.value, ' ') FROM tag t WHERE t.seq = p.entry), '') || ' ' || substr(e.seen_at, 1, 10) AS head,
    index_text(substr(b.text, p.start + 1, p.stop - p.start)) AS text,
    identifier_parts(substr(b.text, p.start + 1, p.stop - p.start)) AS parts
  FROM passage p JOIN entry e ON e.seq = p.entry JOIN body b ON b.seq = p.entry AND b.field = p.field;
CREATE VIRTUAL TABLE passage_fts USING fts5(head, text, parts, content='passage_text', content_rowid='id', tokenize='porter unicode61');
INSERT INTO passage_fts(passage_fts, rank) VALUES('secure-delete', 1);
CREATE TRIGGER passage_add AFTER INSERT ON passage BEGIN
  INSERT INTO passage_fts(rowid, head, text, parts) SELECT id, head, text, parts FROM passage_text WHERE id = NEW.id; END;

CREATE VIEW record_text AS
  SELECT b.seq, b.text AS text, coalesce(x.text, '') AS extra, identifier_parts(b.text) AS parts
  FROM body b LEFT JOIN body x ON x.seq = b.seq AND x.field IN ('subject','reason','why')
  WHERE b.field IN ('text','decision','question');
CREATE VIRTUAL TABLE record_fts USING fts5(text, extra, parts, content='record_text', content_rowid='seq', tokenize='porter unicode61');
INSERT INTO record_fts(record_fts, rank) VALUES('secure-delete', 1);
CREATE TRIGGER fact_add AFTER INSERT ON fact BEGIN
  INSERT INTO record_fts(rowid, text, extra, parts) SELECT seq, text, extra, parts FROM record_text WHERE seq = NEW.seq; END;
CREATE TRIGGER decision_add AFTER INSERT ON decision BEGIN
  INSERT INTO record_fts(rowid, text, extra, parts) SELECT seq, text, extra, parts FROM record_text WHERE seq = NEW.seq; END;
CREATE TRIGGER question_add AFTER INSERT ON question_event WHEN NEW.event = 'opened' BEGIN
  INSERT INTO record_fts(rowid, text, extra, parts) SELECT seq, text, extra, parts FROM record_text WHERE seq = NEW.seq; END;

CREATE VIEW fact_retracted AS SELECT fact AS seq FROM fact_event WHERE event = 'retracted' UNION SELECT target FROM erasure;
CREATE VIEW fact_current AS
  SELECT f.*, j.workspace, j.number, j.window, j.task, j.at, j.agent FROM fact f JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM fact_retracted r WHERE r.seq = f.seq)
  AND NOT EXISTS(SELECT 1 FROM supersession n WHERE n.old = f.seq AND NOT EXISTS(SELECT 1 FROM fact_retracted r WHERE r.seq = n.new));
CREATE VIEW decision_active AS
  SELECT d.*, j.workspace, j.number, j.window, j.task, j.at, j.agent FROM decision d JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM decision n WHERE n.supersedes = d.seq) AND NOT EXISTS(SELECT 1 FROM erasure x WHERE x.target = d.seq);
CREATE VIEW plan_item AS
  SELECT p.*, j.workspace, j.at, j.agent, j.window FROM plan_event p JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM plan_event n WHERE n.item = p.item AND n.version = p.version + 1);
CREATE VIEW task_current AS
  SELECT t.*, j.workspace, j.at FROM task t JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM task n WHERE n.task = t.task AND n.version = t.version + 1);
CREATE VIEW question_open AS
  SELECT q.*, j.workspace, j.number, j.at FROM question_event q JOIN journal j USING(seq)
  WHERE q.event = 'opened' AND NOT EXISTS(SELECT 1 FROM question_event a WHERE a.question = q.question AND a.event = 'answered');
