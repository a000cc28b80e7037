import { mayUseTool, type Rights } from "@holdfast/protocol";

/** Putting files back writes them, so it takes the right to write files. */
export function mayRestoreFiles(rights: Pick<Rights, "tools">): boolean {
  return mayUseTool(rights, "write_file");
}

export const restoreNotAllowed =
  "These rights do not include the tool write_file, so files cannot be put back from here.";
