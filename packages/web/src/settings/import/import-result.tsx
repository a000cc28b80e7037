import { type ImportView, plural } from "@holdfast/protocol";
import type { ReactNode } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { importsStrings } from "../../strings/imports.ts";
import { saveText } from "../../ui/copy-and-save.tsx";
import { Icon } from "../../ui/icons.tsx";
import { FactList } from "../settings-group.tsx";
import { ReportItems } from "./report-items.tsx";

interface ImportResultProps {
  readonly view: ImportView;
  /** Imports what was previewed, or goes on with what was stopped. */
  readonly onConfirm: (() => void) | null;
}

/** What a preview found, or what came of an import: its totals, the proof and the report. */
export function ImportResult({ view, onConfirm }: ImportResultProps) {
  const { client, toasts } = useApp();
  const { id, dryRun, state, failure, report, path, source } = view;
  const t = importsStrings.imports;
  const facts = factsOf(view);
  const title = state === "failed" ? t.failed : dryRun ? t.previewed : t.done;
  async function download(): Promise<void> {
    const text = await client.readImportReport({ params: { id } });
    if (text.ok) saveText(text.value, `${id}.json`);
    else toasts.show(problemText(text.error));
  }
  return (
    <section className="settings-card import-card" aria-label={title}>
      <h3>{title}</h3>
      <p className="quiet" dir="auto">
        {t.sources[source] ?? source}, <bdi>{path}</bdi>
      </p>
      {failure !== null && (
        <p>
          {failure} {!dryRun && t.goOn}
        </p>
      )}
      <Proof view={view} />
      {facts.length === 0 && failure === null ? <p>{t.empty}</p> : <FactList facts={facts} />}
      <div className="row">
        {onConfirm !== null && facts.length > 0 && (
          <button type="button" className="button primary" onClick={onConfirm}>
            {dryRun ? t.confirm : t.again}
          </button>
        )}
        {report !== null && (
          <button type="button" className="button" onClick={() => void download()}>
            <Icon name="download" />
            {t.download}
          </button>
        )}
      </div>
      {report !== null && <ReportItems id={id} links={dryRun ? "none" : "sessions"} />}
    </section>
  );
}

function Proof({ view: { dryRun, texts, differs } }: { readonly view: ImportView }) {
  const t = importsStrings.imports;
  if (dryRun || texts === 0) return null;
  return (
    <output className="fsck">
      <Icon name={differs === 0 ? "check" : "warning"} />
      <span>{differs === 0 ? t.proven(texts) : t.differing(differs, texts)}</span>
    </output>
  );
}

function factsOf({ items, before, findings }: ImportView): (readonly [string, ReactNode])[] {
  const t = importsStrings.imports;
  const said = (outcomes: Readonly<Record<string, number>>): string =>
    Object.entries(outcomes)
      .map(([outcome, count]) =>
        outcome === "note"
          ? t.noteCount(count)
          : t.outcomeCount(count, t.outcomes[outcome] ?? outcome),
      )
      .join(", ");
  const facts = Object.entries(items).map(
    ([kind, outcomes]) => [t.items[kind] ?? kind, said(outcomes)] as const,
  );
  const roles = Object.entries(before)
    .map(([role, count]) => {
      const forms = t.roles[role];
      return forms === undefined ? t.roleCount(count, role) : plural(count, forms);
    })
    .join(", ");
  const remarks: Record<string, number> = {};
  for (const outcomes of Object.values(findings))
    for (const [outcome, count] of Object.entries(outcomes))
      remarks[outcome] = (remarks[outcome] ?? 0) + count;
  return [
    ...facts,
    ...(roles === "" ? [] : [[t.messages, roles] as const]),
    ...(Object.keys(remarks).length === 0 ? [] : [[t.remarks, said(remarks)] as const]),
  ];
}
