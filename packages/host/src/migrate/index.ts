export { makeBackup, restoreBackup } from "./backup.ts";
export { exportSession } from "./export.ts";
export { importDocument } from "./import.ts";
