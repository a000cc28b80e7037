/** Problems with importing data of another host or program. */
export const importProblems = {
  import_refused: {
    status: 422,
    title: "This document cannot be imported.",
    next: "Correct the lines listed in `errors`. Nothing was imported.",
  },
  import_source_missing: {
    status: 422,
    title: "There is nothing to import at this path.",
    next: "Give the other program's folder, or its export, on the machine that runs the host.",
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
    title: "The file is larger than 8 GiB, the limit for uploads.",
    next: "Copy it to the host's machine, and give its path.",
  },
  import_not_found: {
    status: 404,
    title: "There is no such import.",
    next: "GET /api/imports lists the imports.",
  },
} as const;
