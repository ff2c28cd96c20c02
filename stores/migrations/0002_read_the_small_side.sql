-- The views of current records begin at the record's own table, never at the journal: CROSS JOIN
-- keeps SQLite from walking every archive entry of a workspace to find its few records of a kind.
-- What retracts a fact is looked up fact by fact, not listed first.
-- Names and columns stay as they are.

DROP VIEW fact_current;
DROP VIEW decision_active;
DROP VIEW plan_item;
DROP VIEW task_current;
DROP VIEW question_open;

CREATE VIEW fact_current AS
  SELECT f.*, j.workspace, j.number, j.window, j.task, j.at, j.agent FROM fact f CROSS JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM fact_event e WHERE e.fact = f.seq AND e.event = 'retracted')
  AND NOT EXISTS(SELECT 1 FROM erasure x WHERE x.target = f.seq)
  AND NOT EXISTS(SELECT 1 FROM supersession n WHERE n.old = f.seq
    AND NOT EXISTS(SELECT 1 FROM fact_event e WHERE e.fact = n.new AND e.event = 'retracted')
    AND NOT EXISTS(SELECT 1 FROM erasure x WHERE x.target = n.new));
CREATE VIEW decision_active AS
  SELECT d.*, j.workspace, j.number, j.window, j.task, j.at, j.agent FROM decision d CROSS JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM decision n WHERE n.supersedes = d.seq) AND NOT EXISTS(SELECT 1 FROM erasure x WHERE x.target = d.seq);
CREATE VIEW plan_item AS
  SELECT p.*, j.workspace, j.at, j.agent, j.window FROM plan_event p CROSS JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM plan_event n WHERE n.item = p.item AND n.version = p.version + 1);
CREATE VIEW task_current AS
  SELECT t.*, j.workspace, j.at FROM task t CROSS JOIN journal j USING(seq)
  WHERE NOT EXISTS(SELECT 1 FROM task n WHERE n.task = t.task AND n.version = t.version + 1);
CREATE VIEW question_open AS
  SELECT q.*, j.workspace, j.number, j.at FROM question_event q CROSS JOIN journal j USING(seq)
  WHERE q.event = 'opened' AND NOT EXISTS(SELECT 1 FROM question_event a WHERE a.question = q.question AND a.event = 'answered');

-- What was captured is asked for newest first, and may lie before any number of imported entries.
CREATE INDEX entry_captured ON entry(workspace, role, seq) WHERE channel <> 'import';
