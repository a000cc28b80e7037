import { useCallback, useEffect, useRef, useState } from "react";
import { type Attachment } from "@holdfast/protocol";
import { createClient, type Fetch } from "@holdfast/client";
import { problemText } from "../../app-context.ts";
import { withPageKey } from "../../host/page-key.ts";
import { preparePicture } from "./prepare-picture.ts";

const maxFileBytes = 25 * 1024 * 1024;

export interface Upload {
  readonly key: number;
  readonly name: string;
  /** From 0 to 1. */
  readonly progress: number;
  /** Why it failed; the file is kept until it is tried again or removed. */
  readonly failure: string | null;
}

export interface Uploads {
  /** Those that run or have failed. */
  readonly all: readonly Upload[];
  readonly add: (files: Iterable<File>) => void;
  /** A picture as it is, which no model gets as a picture. */
  readonly addOriginal: (file: File) => void;
  readonly retry: (key: number) => void;
  readonly remove: (key: number) => void;
}

interface Added {
  readonly file: File;
  /** Whether a picture is made ready for models. */
  readonly as: "picture" | "file";
}

interface UploadHandlers {
  /** `key` says in which order files were added: a small one may be done before a large one. */
  readonly onDone: (attachment: Attachment, key: number) => void;
  readonly onTooLarge: (name: string) => void;
  /** A picture was made smaller before it was sent. */
  readonly onReduced: (original: File, name: string) => void;
}

/** Uploads to the host. A finished one becomes an attachment; an aborted one leaves nothing on the host. */
export function useUploads(baseUrl: string, handlers: UploadHandlers): Uploads {
  const [all, setAll] = useState<readonly Upload[]>([]);
  const files = useRef(new Map<number, Added>());
  const abortControllers = useRef(new Map<number, AbortController>());
  const lastKey = useRef(0);
  const latestHandlers = useRef(handlers);
  useEffect(() => {
    latestHandlers.current = handlers;
  }, [handlers]);

  const change = useCallback(
    (key: number, changes: Partial<Upload>): void =>
      setAll((old) =>
        old.map((upload) => (upload.key === key ? { ...upload, ...changes } : upload)),
      ),
    [],
  );

  const forget = useCallback((key: number): void => {
    files.current.delete(key);
    abortControllers.current.get(key)?.abort();
    abortControllers.current.delete(key);
    setAll((old) => old.filter((upload) => upload.key !== key));
  }, []);

  const send = useCallback(
    async (key: number): Promise<void> => {
      const added = files.current.get(key);
      if (added === undefined) return;
      change(key, { progress: 0, failure: null });
      const { file: original, as } = added;
      const file = as === "file" ? original : await preparePicture(original);
      if (file.size > maxFileBytes) {
        forget(key);
        return latestHandlers.current.onTooLarge(original.name);
      }
      if (!files.current.has(key)) return;
      const aborting = new AbortController();
      abortControllers.current.set(key, aborting);
      const onProgress = (progress: number): void => change(key, { progress });
      const client = createClient({ baseUrl, fetch: withPageKey(fetchWithProgress(onProgress)) });
      const request = { body: file, mediaType: file.type };
      const result = await client.putBlob(request, { signal: aborting.signal });
      if (aborting.signal.aborted) return;
      if (!result.ok) return change(key, { failure: problemText(result.error) });
      forget(key);
      const attachment = attachmentOf(file, result.value, as);
      latestHandlers.current.onDone(attachment, key);
      if (file !== original) latestHandlers.current.onReduced(original, attachment.name ?? "");
    },
    [baseUrl, change, forget],
  );

  function start(added: Added): void {
    const key = ++lastKey.current;
    files.current.set(key, added);
    setAll((old) => [...old, { key, name: added.file.name, progress: 0, failure: null }]);
    void send(key);
  }

  return {
    all,
    add(added) {
      for (const file of added) start({ file, as: "picture" });
    },
    addOriginal: (file) => start({ file, as: "file" }),
    retry: (key) => void send(key),
    remove: forget,
  };
}

const imageTypes = /^image\/(png|jpeg|gif|webp)$/;

function attachmentOf(
  file: File,
  { blobId, mediaType, size }: { blobId: Attachment["blobId"]; mediaType: string; size: number },
  as: Added["as"],
): Attachment {
  const name = file.name === "" ? "file" : file.name;
  return as === "picture" && imageTypes.test(mediaType)
    ? { type: "image", blobId, mediaType, name }
    : { type: "file", blobId, mediaType, name, size };
}

/** By XMLHttpRequest, because `fetch` reports no upload progress. */
function fetchWithProgress(onProgress: (progress: number) => void): Fetch {
  return (url, init) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(init.method ?? "GET", url);
      for (const [name, value] of new Headers(init.headers)) request.setRequestHeader(name, value);
      request.responseType = "arraybuffer";
      request.upload.addEventListener("progress", ({ loaded, total }) =>
        onProgress(total === 0 ? 1 : loaded / total),
      );
      request.addEventListener("load", () => {
        const type = request.getResponseHeader("content-type") ?? "";
        const body = request.response as ArrayBuffer;
        resolve(new Response(body, { status: request.status, headers: { "content-type": type } }));
      });
      request.addEventListener("error", () => reject(new Error("The connection was lost.")));
      request.addEventListener("abort", () => reject(new Error("The upload was aborted.")));
      init.signal?.addEventListener("abort", () => request.abort());
      request.send(init.body as Blob);
    });
}
