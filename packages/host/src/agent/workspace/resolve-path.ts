/** Why a path is not used. The code is stable; the words are for a person or a model to act on. */
export interface PathRefusal {
  readonly code:
    | "outside"
    | "bad_name"
    | "too_long"
    | "too_many_links"
    | "not_found"
    | "not_a_folder"
    | "not_a_file"
    | "exists"
    | "moved"
    | "unreadable";
  readonly message: string;
}

export type PathResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: PathRefusal };

export function found<T>(value: T): PathResult<T> {
  return { ok: true, value };
}

const refusalMessages: Readonly<Record<PathRefusal["code"], string>> = {
  outside: "leads out of the workspace",
  bad_name: "has characters that no name may have here",
  too_long: "is too long",
  too_many_links: "leads through too many links",
  not_found: "is not there",
  not_a_folder: "is not a folder",
  not_a_file: "is not a plain file",
  exists: "is there already",
  moved: "was replaced while it was being opened",
  unreadable: "cannot be used",
};

export function refused(code: PathRefusal["code"], path: string, more = ""): PathResult<never> {
  const shown = JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
  return { ok: false, refusal: { code, message: `${shown} ${refusalMessages[code]}${more}.` } };
}

/** What the system says of a path, as a refusal. */
export function refusedBy(error: unknown, path: string): PathResult<never> {
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
  switch (code) {
    case "ENOENT":
      return refused("not_found", path);
    case "ENOTDIR":
      return refused("not_a_folder", path);
    case "EISDIR":
      return refused("not_a_file", path);
    case "EEXIST":
      return refused("exists", path);
    case "ELOOP":
      return refused("moved", path);
    case "ENAMETOOLONG":
      return refused("too_long", path);
    // A FIFO that nobody writes to, a socket, a device without a driver.
    case "ENXIO":
    case "ENODEV":
      return refused("not_a_file", path);
    default:
      return refused("unreadable", path, ` (${code})`);
  }
}
