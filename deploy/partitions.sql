-- Split the ledgers' table into sixteen parts by docket. Stop all servers, make a backup, then:
--     psql --single-transaction --set ON_ERROR_STOP=1 --file partitions.sql postgresql://OWNER@HOST/NAME
-- Everything goes on as before: every key of the table holds the docket already. Roles that only
-- read have to be granted SELECT again.
ALTER TABLE events RENAME TO events_whole;
ALTER INDEX events_pkey RENAME TO events_whole_pkey;
ALTER INDEX events_round RENAME TO events_whole_round;
ALTER INDEX events_sought RENAME TO events_whole_sought;

CREATE TABLE events (LIKE events_whole INCLUDING DEFAULTS) PARTITION BY HASH (docket);
DO $$ BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format(
      'CREATE TABLE events_%s PARTITION OF events FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
      part, part);
  END LOOP;
END $$;
INSERT INTO events SELECT * FROM events_whole ORDER BY docket, seq;
ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY (docket, seq);

-- The indexes and the triggers of the whole table, in its own words.
DO $$ DECLARE statement text; part text; BEGIN
  FOR statement IN SELECT replace(pg_get_indexdef(indexrelid), 'events_whole', 'events')
    FROM pg_index WHERE indrelid = 'events_whole'::regclass AND NOT indisprimary
    UNION ALL SELECT replace(pg_get_triggerdef(oid), 'events_whole', 'events')
    FROM pg_trigger WHERE tgrelid = 'events_whole'::regclass AND NOT tgisinternal
  LOOP
    EXECUTE statement;
  END LOOP;
  -- A trigger for each row is that of every part too; one for each statement is not.
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE '
      'ON events_%s FOR EACH STATEMENT EXECUTE FUNCTION likewise_append_only()', part);
  END LOOP;
END $$;
DROP TABLE events_whole;
ANALYZE events;
