-- The rights profile that a call was made under, if its rights are limited: profiles may have spending limits.
ALTER TABLE usage ADD COLUMN profile text COLLATE "C";
