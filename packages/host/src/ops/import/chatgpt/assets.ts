import { type ExportFile, type ExportFiles, readWhole } from "../reading/export-files.ts";
import type { Report } from "../reading/folder.ts";
import { parseJson, record } from "../reading/json.ts";
import { mediaTypeOf } from "../reading/media-type.ts";
import type { ImportedPart } from "../source.ts";

const maxAssetBytes = 64 * 1024 * 1024;
const maxIndexBytes = 64 * 1024 * 1024;

/** Begins the names of files: `file-AbC` of older exports, `file_00ab` of newer ones. */
const fileId = /^(?:file-[A-Za-z0-9]+|file_[0-9a-f]+)/u;

/** The pictures, recordings and documents of an export, by the ids that messages name. */
export class Assets {
  readonly #files: ReadonlyMap<string, ExportFile>;
  readonly #names: ReadonlyMap<string, string>;

  private constructor(files: ReadonlyMap<string, ExportFile>, names: ReadonlyMap<string, string>) {
    this.#files = files;
    this.#names = names;
  }

  static async open(files: ExportFiles, report: Report): Promise<Assets> {
    const byId = new Map<string, ExportFile>();
    for (const file of files.all) {
      const id = fileId.exec(file.path.split("/").at(-1) ?? "")?.[0];
      if (id !== undefined && !byId.has(id)) byId.set(id, file);
    }
    const names = new Map<string, string>();
    for (const file of files.named(/(?:^|\/)conversation_asset_file_names\.json$/u)) {
      const bytes = await readWhole(file, maxIndexBytes, report);
      for (const [path, name] of Object.entries(record.parse(parseJson(bytes?.toString() ?? "")))) {
        const id = fileId.exec(path.split("/").at(-1) ?? "")?.[0];
        if (id !== undefined && typeof name === "string") names.set(id, name);
      }
    }
    return new Assets(byId, names);
  }

  /** `pointer` is an address such as `sediment://file_00ab#…` or an id. */
  async part(pointer: string, named: string | null, report: Report): Promise<ImportedPart> {
    const id = fileId.exec(pointer.split("://").at(-1) ?? "")?.[0] ?? pointer;
    const file = this.#files.get(id);
    const name = named ?? this.#names.get(id) ?? nameOf(file, id);
    const bytes = file === undefined ? null : await readWhole(file, maxAssetBytes, report);
    if (bytes === null || bytes.length === 0) return { type: "missing", name };
    const mediaType = sniff(bytes) ?? mediaTypeOf(name);
    const type = mediaType.startsWith("image/") ? "image" : "file";
    return { type, name, mediaType, bytes };
  }
}

function nameOf(file: ExportFile | undefined, id: string): string {
  const name = file?.path.split("/").at(-1) ?? id;
  const own = name.startsWith(`${id}-`) ? name.slice(id.length + 1) : name;
  return own === "" ? id : own;
}

/** Newer exports call every file `.dat`. */
function sniff(bytes: Buffer): string | null {
  const start = bytes.toString("latin1", 0, 12);
  if (start.startsWith("\u0089PNG")) return "image/png";
  if (start.startsWith("\u00FF\u00D8\u00FF")) return "image/jpeg";
  if (start.startsWith("GIF8")) return "image/gif";
  if (start.startsWith("RIFF")) return start.endsWith("WEBP") ? "image/webp" : "audio/wav";
  if (start.startsWith("%PDF")) return "application/pdf";
  return null;
}
