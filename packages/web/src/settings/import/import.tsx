import type { ImportView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { importsStrings } from "../../strings/imports.ts";
import { formatMoment, formatShortTime } from "../../ui/format-time.ts";
import { SettingsGroup, useHostQuery } from "../settings-group.tsx";
import { ImportForm, type ImportRequest } from "./import-form.tsx";
import { ImportProgress } from "./import-progress.tsx";
import { ImportResult } from "./import-result.tsx";

const pollMs = 700;

/** Preview first, then the import, then its report. A running import goes on without the page. */
export function ImportSettings() {
  const { client, toasts } = useApp();
  const [query, refetch, update] = useHostQuery(() => client.listImports({}));
  /** `null`: the newest one. */
  const [chosen, setChosen] = useState<string | null>(null);
  const [request, setRequest] = useState<ImportRequest | null>(null);
  const [isStarting, setStarting] = useState(false);
  const t = importsStrings.imports;
  const imports = query.kind === "loaded" ? query.value.imports : [];
  const [newest] = imports;
  const isRunning = newest?.state === "running";
  const runningId = isRunning ? newest.id : null;
  useEffect(() => {
    if (runningId === null) return;
    const read = async (): Promise<void> => {
      const found = await client.readImport({ params: { id: runningId } });
      if (!found.ok) return;
      const { import: now } = found.value;
      update((value) => ({
        ...value,
        imports: value.imports.map((each) => (each.id === now.id ? now : each)),
      }));
    };
    const timer = setInterval(() => void read(), pollMs);
    return () => clearInterval(timer);
  }, [client, runningId, update]);

  async function start(body: ImportRequest, mode: "dry" | "write"): Promise<void> {
    setStarting(true);
    const started = await client.startImport({ body: { ...body, mode } });
    setStarting(false);
    if (!started.ok) {
      toasts.show(problemText(started.error));
      return;
    }
    setRequest(body);
    setChosen(started.value.import.id);
    refetch();
  }

  const shown = imports.find(({ id }) => id === chosen) ?? (isRunning ? newest : undefined);
  return (
    <>
      <p className="quiet">{t.hint}</p>
      <ImportForm isBusy={isStarting || isRunning} onPreview={(body) => void start(body, "dry")} />
      {shown?.state === "running" && <ImportProgress view={shown} />}
      {shown !== undefined && shown.state !== "running" && (
        <ImportResult
          key={shown.id}
          view={shown}
          onConfirm={
            request === null || isRunning || !mayGoOn(shown, request)
              ? null
              : () => void start(request, "write")
          }
        />
      )}
      <SettingsGroup title={t.earlier} query={query}>
        {() => <EarlierImports imports={imports} shown={shown?.id} onShow={setChosen} />}
      </SettingsGroup>
    </>
  );
}

/** A preview leads to the import of the same, and one that was stopped goes on. */
function mayGoOn({ dryRun, state, source }: ImportView, request: ImportRequest): boolean {
  return source === request.source && (dryRun || state === "failed");
}

interface EarlierProps {
  readonly imports: readonly ImportView[];
  readonly shown: string | undefined;
  readonly onShow: (id: string) => void;
}

function EarlierImports({ imports, shown, onShow }: EarlierProps) {
  const t = importsStrings.imports;
  const [now] = useState(Date.now);
  const others = imports.filter(({ id, state }) => id !== shown && state !== "running");
  if (others.length === 0) return <p className="quiet">{t.noEarlier}</p>;
  return (
    <ul className="facts-list" aria-label={t.earlier}>
      {others.map(({ id, source, path, startedAt, dryRun, state }) => (
        <li key={id}>
          <span className="import-text">
            <bdi>{t.sources[source] ?? source}</bdi>{" "}
            <span className="quiet">
              {formatShortTime(startedAt, now)}
              {dryRun && `, ${t.isPreview}`}
              {state === "failed" && `, ${t.failed}`}
            </span>
            <br />
            <span className="quiet" dir="ltr">
              {path}
            </span>
          </span>
          <button
            type="button"
            className="button"
            aria-label={t.showEarlier(t.sources[source] ?? source, formatMoment(startedAt))}
            onClick={() => onShow(id)}
          >
            {t.showShort}
          </button>
        </li>
      ))}
    </ul>
  );
}
