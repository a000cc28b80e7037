import type { RequestRow } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { int, text, textOrNull } from "./columns.ts";
import type { Row } from "../connection.ts";

export const requestByKey = `
  SELECT r.owner_id, r.key, r.hash, s.id AS session_id, r.answer, r.at
    FROM requests r LEFT JOIN sessions s ON s.key = r.session_key
   WHERE r.owner_id = ? AND r.key = ? AND r.at > ?`;

export function decodeRequest(row: Row): RequestRow {
  return {
    owner: text<OwnerId>(row, "owner_id"),
    key: text(row, "key"),
    hash: text(row, "hash"),
    session: textOrNull<SessionId>(row, "session_id"),
    answer: text(row, "answer"),
    at: int(row, "at"),
  };
}
