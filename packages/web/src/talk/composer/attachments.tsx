import { useCallback, useEffect, useRef, useState } from "react";
import { type Attachment, type BlobId } from "@holdfast/protocol";
import { createClient, type Fetch } from "@holdfast/client";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { blobHref, withPageKey } from "../../host/page-key.ts";

const maxFileBytes = 25 * 1024 * 1024;

export interface Upload {
  readonly key: number;
  readonly name: string;
  /** From 0 to 1. */
  readonly progress: number;
}

export interface Uploads {
  readonly running: readonly Upload[];
  readonly add: (files: Iterable<File>) => void;
  readonly stop: (key: number) => void;
}

interface UploadHandlers {
  readonly onDone: (attachment: Attachment) => void;
  readonly onTooLarge: (name: string) => void;
  readonly onFailed: (name: string) => void;
}

/** Uploads to the host. A finished one becomes an attachment; an aborted one leaves nothing on the host. */
export function useUploads(baseUrl: string, handlers: UploadHandlers): Uploads {
  const [running, setRunning] = useState<readonly Upload[]>([]);
  const abortControllers = useRef(new Map<number, AbortController>());
  const lastKey = useRef(0);
  const latestHandlers = useRef(handlers);
  useEffect(() => {
    latestHandlers.current = handlers;
  }, [handlers]);

  const startUpload = useCallback(
    async (file: File): Promise<void> => {
      const key = ++lastKey.current;
      const aborting = new AbortController();
      abortControllers.current.set(key, aborting);
      setRunning((all) => [...all, { key, name: file.name, progress: 0 }]);
      const onProgress = (progress: number): void =>
        setRunning((all) =>
          all.map((upload) => (upload.key === key ? { ...upload, progress } : upload)),
        );
      const client = createClient({ baseUrl, fetch: withPageKey(fetchWithProgress(onProgress)) });
      const request = { body: file, mediaType: file.type };
      const result = await client.putBlob(request, { signal: aborting.signal });
      abortControllers.current.delete(key);
      setRunning((all) => all.filter((upload) => upload.key !== key));
      if (result.ok) latestHandlers.current.onDone(attachmentOf(file, result.value));
      else if (!aborting.signal.aborted) latestHandlers.current.onFailed(file.name);
    },
    [baseUrl],
  );

  return {
    running,
    add(files) {
      for (const file of files)
        if (file.size > maxFileBytes) latestHandlers.current.onTooLarge(file.name);
        else void startUpload(file);
    },
    stop: (key) => abortControllers.current.get(key)?.abort(),
  };
}

const imageTypes = /^image\/(png|jpeg|gif|webp)$/;

function attachmentOf(
  file: File,
  { blobId, mediaType, size }: { blobId: Attachment["blobId"]; mediaType: string; size: number },
): Attachment {
  const name = file.name === "" ? "file" : file.name;
  return imageTypes.test(mediaType)
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

interface AttachmentChipsProps {
  readonly attachments: readonly Attachment[];
  readonly uploads: readonly Upload[];
  readonly onRemove: (blobId: BlobId) => void;
  readonly onStop: (key: number) => void;
}

/** The draft's attachments and running uploads. */
export function AttachmentChips({ attachments, uploads, onRemove, onStop }: AttachmentChipsProps) {
  if (attachments.length === 0 && uploads.length === 0) return null;
  return (
    <ul className="chips">
      {attachments.map((attachment) => {
        const name = attachment.name ?? strings.talk.label;
        return (
          <li key={attachment.blobId} className="chip">
            {attachment.type === "image" ? (
              <img src={blobHref(attachment.blobId)} alt="" />
            ) : (
              <Icon name="file" />
            )}
            <span>{name}</span>
            <RemoveButton name={name} onRemove={() => onRemove(attachment.blobId)} />
          </li>
        );
      })}
      {uploads.map(({ key, name, progress }) => (
        <li key={key} className="chip">
          <progress
            value={progress}
            aria-label={strings.composer.uploading(name, Math.round(progress * 100))}
          />
          <span>{name}</span>
          <RemoveButton name={name} onRemove={() => onStop(key)} />
        </li>
      ))}
    </ul>
  );
}

function RemoveButton({ name, onRemove }: { name: string; onRemove: () => void }) {
  const label = strings.composer.detach(name);
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={label}
      title={label}
      onClick={onRemove}
    >
      <Icon name="close" />
    </button>
  );
}
