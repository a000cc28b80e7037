-- Each event is linked by hash to the one before it; rows that older versions wrote have no link.
ALTER TABLE events ADD COLUMN link text COLLATE "C";
-- The hash of the open deltas, and how many it covers.
ALTER TABLE heads ADD COLUMN output_hash text COLLATE "C";
