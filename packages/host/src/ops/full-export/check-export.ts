import { ExportFault, readExport } from "./read-export.ts";

export interface ExportReport {
  readonly logs: number;
  readonly events: number;
  readonly blobs: number;
  /** Events that could not be read when the file was written. */
  readonly damaged: number;
  /** Who wrote the file, and when. */
  readonly signature: { readonly key: string; readonly at: number } | null;
  readonly problem: {
    readonly code: string;
    readonly line: number;
    readonly message: string;
  } | null;
}

/** Checks a full export without a host, up to the first thing that is wrong with it. */
export async function checkExport(
  source: AsyncIterable<Uint8Array>,
  trustedKey?: string,
): Promise<ExportReport> {
  const counts = { logs: 0, events: 0, blobs: 0, damaged: 0 };
  let signature: ExportReport["signature"] = null;
  let [exportedAt, line] = [0, 0];
  try {
    for await (const item of readExport(source)) {
      ({ line } = item);
      if (item.kind === "header") ({ exportedAt } = item.header);
      if (item.kind === "log") counts.logs += 1;
      if (item.kind === "event") counts.events += 1;
      if (item.kind === "blob") counts.blobs += 1;
      if (item.kind === "damaged") counts.damaged += 1;
      if (item.kind === "end") signature = { key: item.key, at: exportedAt };
    }
  } catch (error) {
    if (!(error instanceof ExportFault)) throw error;
    const { code, line: at, message } = error;
    return { ...counts, signature: null, problem: { code, line: at, message } };
  }
  if (trustedKey === undefined || signature?.key === trustedKey)
    return { ...counts, signature, problem: null };
  const message = `The file is not signed by ${trustedKey}.`;
  return { ...counts, signature, problem: { code: "signature_missing", line, message } };
}
