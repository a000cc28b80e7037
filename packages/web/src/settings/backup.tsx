import { useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { exportHref } from "../host/page-key.ts";
import { strings } from "../strings/strings.ts";
import { formatMoment } from "../ui/format-time.ts";
import { Icon } from "../ui/icons.tsx";
import { SettingsGroup, useHostQuery } from "./settings-group.tsx";

const pollMs = 700;
const maxShown = 5;

/** Makes a backup, and shows how far it is and which ones there are. */
export function Backup() {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.listBackups());
  const [isAsked, setIsAsked] = useState(false);
  const t = strings.settings.backup;
  const isRunning = isAsked || (query.kind === "loaded" && query.value.running !== null);
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(refetch, pollMs);
    return () => clearInterval(timer);
  }, [isRunning, refetch]);
  async function start(): Promise<void> {
    setIsAsked(true);
    const result = await client.backup({});
    setIsAsked(false);
    refetch();
    toasts.show(
      result.ok ? t.made(result.value.name, result.value.bytes) : problemText(result.error),
    );
  }
  return (
    <SettingsGroup title={t.title} hint={t.hint} query={query}>
      {({ supported, backups, running }) => {
        const verified = backups.find(({ verifiedAt }) => verifiedAt !== null);
        if (!supported) return <p>{t.unsupported}</p>;
        return (
          <>
            {running !== null && (
              <output className="fsck">
                <Icon name="clock" />
                <span>{t.running[running.phase](running.sessions, running.events)}</span>
                <span className="dot pulsing" />
              </output>
            )}
            <p>{verified === undefined ? t.none : t.last(formatMoment(verified.createdAt))}</p>
            <ul>
              {backups.slice(0, maxShown).map(({ name, createdAt, bytes, verifiedAt }) => (
                <li key={name} className="quiet" title={name}>
                  {t.item(formatMoment(createdAt), bytes)}
                  {verifiedAt === null && `, ${t.notVerified}`}
                </li>
              ))}
            </ul>
            <button
              type="button"
              className="button"
              disabled={isRunning}
              onClick={() => void start()}
            >
              {t.start}
            </button>
          </>
        );
      }}
    </SettingsGroup>
  );
}

/** Links, so that the browser writes the file as it arrives and shows how far it is. */
export function ExportEverything() {
  const t = strings.settings.exportAll;
  return (
    <section className="settings-section">
      <h3>{t.title}</h3>
      <p className="quiet">{t.hint}</p>
      {(["jsonl", "html", "md"] as const).map((format) => (
        <p key={format}>
          <a className="button" href={exportHref(format)} download>
            <Icon name="download" />
            <span>{t.formats[format]}</span>
          </a>
        </p>
      ))}
    </section>
  );
}
