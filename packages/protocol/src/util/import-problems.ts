/** Problems of taking in what another host or another program wrote. */
export const importProblems = {
  import_refused: {
    status: 422,
    title: "This document cannot be imported.",
    next: "Correct the lines listed in `errors`. Nothing was imported.",
  },
  import_source_missing: {
    status: 422,
    title: "There is nothing to import at this path.",
    next: "Name the other program's folder, or the export that it made, on the machine that the host runs on.",
  },
  import_running: {
    status: 409,
    title: "Another import is running.",
    next: "Wait until it is done, or stop it.",
  },
  import_upload_gap: {
    status: 409,
    title: "A piece of the file before this one is missing.",
    next: "Send the file again from its beginning.",
  },
  import_upload_too_large: {
    status: 413,
    title: "A file that is sent to the host has at most 8 GiB.",
    next: "Copy it to the host's machine, and import it from its path.",
  },
  import_not_found: {
    status: 404,
    title: "There is no such import.",
    next: "GET /api/imports lists the imports.",
  },
} as const;
