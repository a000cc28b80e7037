import type { ImportView } from "@holdfast/protocol";
import { problemText, useApp } from "../../app-context.ts";
import { importsStrings } from "../../strings/imports.ts";

const sum = (counts: Readonly<Record<string, number>> = {}): number =>
  Object.values(counts).reduce((total, count) => total + count, 0);

/** How far a running import is. */
export function ImportProgress({ view }: { readonly view: ImportView }) {
  const { client, toasts } = useApp();
  const t = importsStrings.imports;
  const sessions = sum(view.items["session"]);
  const messages = sum(view.before);
  const expected = view.expected ?? null;
  async function stop(): Promise<void> {
    const stopped = await client.stopImport({ params: { id: view.id } });
    if (!stopped.ok) toasts.show(problemText(stopped.error));
  }
  return (
    <section className="settings-card import-card" aria-label={t.progress}>
      <h3>{t.running(view.dryRun, t.sources[view.source] ?? view.source)}</h3>
      <progress
        aria-label={t.progress}
        {...(expected !== null && { value: sessions, max: Math.max(expected, 1) })}
      />
      <output className="quiet">
        {expected === null
          ? t.counted(sessions, messages)
          : t.countedOf(sessions, expected, messages)}
      </output>
      <button type="button" className="button" onClick={() => void stop()}>
        {t.stop}
      </button>
    </section>
  );
}
