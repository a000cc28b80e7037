import type { RegisterRow } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import { int, text } from "./columns.ts";
import type { Row } from "../connection.ts";

export const registerByKey = "SELECT * FROM register WHERE owner_id = ? AND key = ?";

export function decodeRegister(row: Row): RegisterRow {
  return {
    owner: text<OwnerId>(row, "owner_id"),
    key: text(row, "key"),
    value: text(row, "value"),
    revision: int(row, "revision"),
    at: int(row, "at"),
  };
}
