import { blobId, type SkippedSkillView, type StagedSkillView } from "@holdfast/protocol";
import { type FormEvent, useId, useRef, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { SkillSummary, SkippedSkills } from "./skill-summary.tsx";

interface Staged {
  readonly id: string;
  readonly skills: readonly StagedSkillView[];
  readonly skipped: readonly SkippedSkillView[];
}

type Source = { readonly folder: string } | { readonly address: string };

/** Puts skills from an archive, a folder of the host or a repository in place, once they have been looked at. */
export function InstallSkills({ onInstalled }: { readonly onInstalled: () => void }) {
  const { client, toasts } = useApp();
  const [place, setPlace] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [staged, setStaged] = useState<Staged | null>(null);
  /** The dialog also closes when it is confirmed. */
  const isConfirmed = useRef(false);
  const field = useId();
  const file = useId();
  const t = strings.skills.install;

  /** Nothing is used yet: the host keeps it apart until it is installed or discarded. */
  async function stage(prepare: () => Promise<Source | { readonly blobId: string } | null>) {
    setIsBusy(true);
    const source = await prepare();
    if (source !== null) {
      const body = "blobId" in source ? { blobId: blobId.parse(source.blobId) } : source;
      const result = await client.stageSkills({ body });
      if (result.ok) setStaged(result.value);
      else toasts.show(problemText(result.error));
    }
    setIsBusy(false);
  }

  async function upload(archive: File): Promise<{ readonly blobId: string } | null> {
    const body = new Uint8Array(await archive.arrayBuffer());
    const put = await client.putBlob({ body, mediaType: "application/octet-stream" });
    if (put.ok) return { blobId: put.value.blobId };
    toasts.show(problemText(put.error));
    return null;
  }

  function look(event: FormEvent): void {
    event.preventDefault();
    const text = place.trim();
    if (text === "") return;
    void stage(async () => (/^https:/i.test(text) ? { address: text } : { folder: text }));
  }

  async function discard(): Promise<void> {
    setStaged(null);
    if (staged !== null && !isConfirmed.current)
      await client.discardSkills({ params: { id: staged.id } });
    isConfirmed.current = false;
  }

  async function install({ id, skills }: Staged): Promise<void> {
    isConfirmed.current = true;
    const chosen = skills.map(({ path, hash, replaces }) => ({
      path,
      hash,
      ...(replaces !== undefined && { replaces: replaces.hash }),
    }));
    const result = await client.installSkills({ params: { id }, body: { skills: chosen } });
    toasts.show(
      result.ok
        ? t.installed(skills.map(({ name }) => revealInvisible(name)))
        : problemText(result.error),
    );
    if (!result.ok) await client.discardSkills({ params: { id } });
    setPlace("");
    onInstalled();
  }

  return (
    <>
      <form className="fact-form" aria-label={t.title} onSubmit={look}>
        <div className="field">
          <label htmlFor={field}>{t.place}</label>
          <input
            id={field}
            className="input"
            type="text"
            dir="ltr"
            autoComplete="off"
            spellCheck={false}
            value={place}
            onChange={(event) => setPlace(event.target.value)}
          />
        </div>
        <div className="row">
          <button type="submit" className="button" disabled={isBusy || place.trim() === ""}>
            {isBusy ? t.looking : t.look}
          </button>
          <label className="button" htmlFor={file}>
            {t.upload}
          </label>
          <input
            id={file}
            className="hidden-text"
            type="file"
            accept=".zip,.tar.gz,.tgz"
            disabled={isBusy}
            onChange={(event) => {
              const [archive] = event.target.files ?? [];
              event.target.value = "";
              if (archive !== undefined) void stage(() => upload(archive));
            }}
          />
        </div>
        <p className="quiet">{t.hint}</p>
      </form>
      {staged !== null && (
        <Dialog
          title={t.ask(staged.skills.length)}
          confirm={t.confirm}
          tone={staged.skills.some(({ replaces }) => replaces !== undefined) ? "warn" : "primary"}
          onConfirm={() => void install(staged)}
          onClose={() => void discard()}
        >
          <p>{t.lead}</p>
          <ul className="facts-list">
            {staged.skills.map((skill) => (
              <li key={skill.path}>
                <SkillSummary skill={skill} />
                {skill.replaces !== undefined && <Changes replaces={skill.replaces} />}
              </li>
            ))}
          </ul>
          <SkippedSkills skipped={staged.skipped} />
        </Dialog>
      )}
    </>
  );
}

/** What becomes of the files of the installed one. */
function Changes({ replaces }: { readonly replaces: NonNullable<StagedSkillView["replaces"]> }) {
  const { changes } = replaces;
  const t = strings.skills.install;
  return (
    <details className="fold" open>
      <summary>{t.replaces(changes.length)}</summary>
      {changes.map(({ path, kind, diff }) => (
        <div key={path}>
          <p dir="auto">{`${t.change[kind]}: ${revealInvisible(path)}`}</p>
          {diff !== undefined && diff !== "" && (
            <pre className="lines short" dir="auto">
              {revealInvisible(diff)}
            </pre>
          )}
        </div>
      ))}
    </details>
  );
}
