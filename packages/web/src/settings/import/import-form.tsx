import {
  type ImportKind,
  importSourceInfo,
  type ImportSourceName,
  importSources,
  importUploadBytes,
} from "@holdfast/protocol";
import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { importsStrings } from "../../strings/imports.ts";
import { Choice, TextField } from "../form-fields.tsx";
import { uploadFile } from "./upload-file.ts";

export interface ImportRequest {
  readonly source: ImportSourceName;
  readonly path: string;
  readonly only?: ImportKind[];
  readonly profile?: string;
  readonly secrets: "taken" | "left";
}

interface ImportFormProps {
  readonly isBusy: boolean;
  readonly onPreview: (request: ImportRequest) => void;
}

const usualPath = (source: ImportSourceName): string => {
  const { usualFolder } = importSourceInfo[source];
  return usualFolder === null ? "" : `~/${usualFolder}`;
};

/** What to import, from where, and what of it. */
export function ImportForm({ isBusy, onPreview }: ImportFormProps) {
  const { toasts } = useApp();
  const [source, setSource] = useState<ImportSourceName>("hermes");
  const [path, setPath] = useState(usualPath("hermes"));
  const [left, setLeft] = useState<ReadonlySet<ImportKind>>(new Set());
  const [secrets, setSecrets] = useState(false);
  const [profile, setProfile] = useState("");
  const warning = useId();
  const t = importsStrings.imports;
  const { kinds, reads } = importSourceInfo[source];
  const choices = kinds.filter((kind) => kind !== "secrets");
  const hasSecrets = kinds.includes("secrets");

  function choose(next: ImportSourceName): void {
    setSource(next);
    setPath(usualPath(next));
    setLeft(new Set());
    setSecrets(false);
    setProfile("");
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    const only = choices.filter((kind) => !left.has(kind));
    if (only.length === 0 && !secrets) {
      toasts.show(t.nothingChosen);
      return;
    }
    const isAll = only.length === choices.length;
    onPreview({
      source,
      path: path.trim(),
      // All of it includes remarks about what has no place here.
      ...(!isAll && { only: [...only, ...(secrets ? (["secrets"] as const) : [])] }),
      ...(profile.trim() !== "" && { profile: profile.trim() }),
      secrets: secrets ? "taken" : "left",
    });
  }

  return (
    <form className="settings-section" aria-label={t.form} onSubmit={submit}>
      <Choice
        label={t.source}
        value={source}
        options={sourceNames}
        isDisabled={isBusy}
        onChange={choose}
      />
      <TextField
        label={reads === "folder" ? t.folder : t.fileOrFolder}
        value={path}
        onChange={setPath}
      />
      {reads === "file_or_folder" && <UploadField isBusy={isBusy} onUploaded={setPath} />}
      {choices.length > 1 && (
        <fieldset className="choices">
          <legend>{t.whole}</legend>
          {choices.map((kind) => (
            <label key={kind} className="choice">
              <input
                type="checkbox"
                checked={!left.has(kind)}
                onChange={({ target }) => {
                  const next = new Set(left);
                  if (target.checked) next.delete(kind);
                  else next.add(kind);
                  setLeft(next);
                }}
              />
              <span>{t.kinds[kind] ?? kind}</span>
            </label>
          ))}
          {choices.includes("skills") && <p className="quiet">{t.off}</p>}
        </fieldset>
      )}
      {hasSecrets && (
        <>
          <label className="choice import-secrets">
            <input
              type="checkbox"
              checked={secrets}
              aria-describedby={warning}
              onChange={({ target }) => setSecrets(target.checked)}
            />
            <span>{t.secrets}</span>
          </label>
          <p className="quiet" id={warning}>
            {t.secretsWarning}
          </p>
          <TextField label={t.profile} value={profile} onChange={setProfile} />
        </>
      )}
      <button type="submit" className="button primary" disabled={isBusy || path.trim() === ""}>
        {isBusy ? t.starting : t.preview}
      </button>
    </form>
  );
}

const sourceNames = Object.fromEntries(
  importSources.map((name) => [name, importsStrings.imports.sources[name] ?? name]),
) as Readonly<Record<ImportSourceName, string>>;

interface UploadFieldProps {
  readonly isBusy: boolean;
  readonly onUploaded: (path: string) => void;
}

/** An export that lies on the person's own machine. */
function UploadField({ isBusy, onUploaded }: UploadFieldProps) {
  const { client, toasts } = useApp();
  const [sending, setSending] = useState<{ name: string; share: number } | null>(null);
  const [sent, setSent] = useState<string | null>(null);
  const stop = useRef<AbortController | null>(null);
  const field = useId();
  const t = importsStrings.imports;
  useEffect(() => () => stop.current?.abort(), []);

  async function send(file: File): Promise<void> {
    if (file.size === 0 || file.size > importUploadBytes) {
      toasts.show(file.size === 0 ? t.emptyFile : t.tooLarge);
      return;
    }
    const { name } = file;
    const cancel = new AbortController();
    stop.current = cancel;
    setSent(null);
    setSending({ name, share: 0 });
    const { signal } = cancel;
    const onProgress = (share: number) => setSending({ name, share });
    const result = await uploadFile(client, file, { signal, onProgress });
    setSending(null);
    if (result.ok) {
      setSent(name);
      onUploaded(result.value.path);
    } else if (result.error.kind !== "aborted") toasts.show(problemText(result.error));
  }

  if (sending !== null)
    return (
      <div className="row">
        <progress value={sending.share} aria-label={t.uploading(sending.name, sending.share)} />
        <span className="quiet">{t.uploading(sending.name, sending.share)}</span>
        <button type="button" className="button" onClick={() => stop.current?.abort()}>
          {t.cancelUpload}
        </button>
      </div>
    );
  return (
    <div className="row">
      <label className="button" htmlFor={field}>
        {t.upload}
      </label>
      <input
        id={field}
        className="hidden-text"
        type="file"
        accept=".zip,.json,.jsonl"
        disabled={isBusy}
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          event.target.value = "";
          if (file !== undefined) void send(file);
        }}
      />
      {sent !== null && <output className="quiet">{t.uploaded(sent)}</output>}
    </div>
  );
}
