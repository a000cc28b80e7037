import { useCallback, useEffect, useRef, useState } from "react";
import { type Attachment, type BlobId } from "@holdfast/protocol";
import { createClient, type Fetch } from "@holdfast/client";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import { blobHref } from "../transcript/attachment-view.tsx";

const maxFileBytes = 25 * 1024 * 1024;

export interface Upload {
  readonly key: number;
  readonly name: string;
  /** From 0 to 1. */
  readonly sent: number;
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

/** Files on their way to the host. One that has arrived is an attachment; one that is broken off leaves nothing there. */
export function useUploads(baseUrl: string, ends: UploadHandlers): Uploads {
  const [running, setRunning] = useState<readonly Upload[]>([]);
  const stops = useRef(new Map<number, AbortController>());
  const last = useRef(0);
  const end = useRef(ends);
  useEffect(() => {
    end.current = ends;
  }, [ends]);

  const upload = useCallback(
    async (file: File): Promise<void> => {
      const key = ++last.current;
      const stop = new AbortController();
      stops.current.set(key, stop);
      setRunning((all) => [...all, { key, name: file.name, sent: 0 }]);
      const onProgress = (sent: number): void =>
        setRunning((all) => all.map((each) => (each.key === key ? { ...each, sent } : each)));
      const client = createClient({ baseUrl, fetch: fetchWithProgress(onProgress) });
      const asked = { body: file, mediaType: file.type };
      const result = await client.putBlob(asked, { signal: stop.signal });
      stops.current.delete(key);
      setRunning((all) => all.filter((each) => each.key !== key));
      if (result.ok) end.current.onDone(attachmentOf(file, result.value));
      else if (!stop.signal.aborted) end.current.onFailed(file.name);
    },
    [baseUrl],
  );

  return {
    running,
    add(files) {
      for (const file of files)
        if (file.size > maxFileBytes) end.current.onTooLarge(file.name);
        else void upload(file);
    },
    stop: (key) => stops.current.get(key)?.abort(),
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

/** `fetch` says nothing of how much has been sent; the older way does. */
function fetchWithProgress(onProgress: (sent: number) => void): Fetch {
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
      request.addEventListener("abort", () => reject(new Error("It was broken off.")));
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

/** What will go with the message, and what is still on its way. */
export function AttachmentChips({ attachments, uploads, onRemove, onStop }: AttachmentChipsProps) {
  if (attachments.length === 0 && uploads.length === 0) return null;
  return (
    <ul className="chips">
      {attachments.map((each) => {
        const name = each.name ?? strings.talk.label;
        return (
          <li key={each.blobId} className="chip">
            {each.type === "image" ? (
              <img src={blobHref(each.blobId)} alt="" />
            ) : (
              <Icon name="file" />
            )}
            <span>{name}</span>
            <RemoveButton name={name} onRemove={() => onRemove(each.blobId)} />
          </li>
        );
      })}
      {uploads.map(({ key, name, sent }) => (
        <li key={key} className="chip">
          <progress
            value={sent}
            aria-label={strings.composer.uploading(name, Math.round(sent * 100))}
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
