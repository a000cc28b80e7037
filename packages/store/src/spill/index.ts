export { openSpillFolder, type SpillFolderOptions } from "./folder.ts";
