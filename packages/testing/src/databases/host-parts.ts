import { readdirSync, readFileSync, writeFileSync } from "node:fs";

import { createLiveness, currentHolder } from "@holdfast/store/identity";
import { openSpillFolder } from "@holdfast/store/spill";

import type { ProcessIdentity, SpillFolders } from "../contracts/test-database.ts";

export const identity: ProcessIdentity = { currentHolder, createLiveness };

export const spills: SpillFolders = {
  open: (folder) => openSpillFolder(folder, { reserveBytes: 4_096 }),
  files: (folder) => readdirSync(folder).filter((name) => name.endsWith(".spill")),
  damage(file) {
    const bytes = readFileSync(file);
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    const last = bytes.lastIndexOf("HFS1");
    const repeated = bytes.subarray(last, bytes.indexOf("}]}", last) + 3);
    const torn = bytes.subarray(last, last + 60);
    writeFileSync(file, Buffer.concat([bytes.subarray(0, last), repeated, repeated, torn]));
  },
};
