import { type ImportItemFilter, type ImportItemView, sessionId } from "@holdfast/protocol";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { problemText, useApp } from "../../app-context.ts";
import { linkProps } from "../../router/router.ts";
import { importsStrings } from "../../strings/imports.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { Choice, TextField } from "../form-fields.tsx";

interface Listed {
  readonly items: readonly ImportItemView[];
  readonly next: number | null;
}

const pageSize = 50;

interface ReportItemsProps {
  readonly id: string;
  /** A preview names sessions that aren't there yet. */
  readonly links: "sessions" | "none";
}

/** The lines of a report: what was left out, damaged, recovered or guessed, or everything. */
export function ReportItems({ id, links }: ReportItemsProps) {
  const { client, toasts } = useApp();
  const [show, setShow] = useState<ImportItemFilter>("noteworthy");
  const [words, setWords] = useState("");
  const [searched, setSearched] = useState("");
  const [listed, setListed] = useState<Listed | null>(null);
  /** An answer to an earlier question is stale. */
  const revision = useRef(0);
  const t = importsStrings.imports;

  useEffect(() => {
    const mine = ++revision.current;
    const query = { show, limit: pageSize, ...(searched !== "" && { q: searched }) };
    void client.listImportItems({ params: { id }, query }).then((found) => {
      if (mine !== revision.current) return undefined;
      if (found.ok) setListed(found.value);
      else toasts.show(problemText(found.error));
      return undefined;
    });
  }, [client, toasts, id, show, searched]);

  async function loadMore({ items, next }: Listed): Promise<void> {
    if (next === null) return;
    const mine = revision.current;
    const query = { show, limit: pageSize, after: next, ...(searched !== "" && { q: searched }) };
    const found = await client.listImportItems({ params: { id }, query });
    if (mine !== revision.current) return;
    if (found.ok) setListed({ items: [...items, ...found.value.items], next: found.value.next });
    else toasts.show(problemText(found.error));
  }

  function search(event: FormEvent): void {
    event.preventDefault();
    setSearched(words.trim());
  }

  return (
    <>
      <h4>{t.details}</h4>
      <form className="fact-form" role="search" onSubmit={search}>
        <Choice label={t.show} value={show} options={t.filters} onChange={setShow} />
        <TextField label={t.search} value={words} onChange={setWords} />
        <button type="submit" className="button">
          {t.searchButton}
        </button>
      </form>
      {listed !== null && (
        <>
          {listed.items.length === 0 && <p className="quiet">{t.nothingFound}</p>}
          <ul className="facts-list" aria-label={t.details}>
            {listed.items.map((item, index) => (
              <ReportItem key={index} item={item} links={links} />
            ))}
          </ul>
          {listed.next !== null && (
            <button type="button" className="button" onClick={() => void loadMore(listed)}>
              {t.more}
            </button>
          )}
        </>
      )}
    </>
  );
}

/** Names and paths are another program's: nothing in them is drawn but text. */
function ReportItem({ item, links }: Pick<ReportItemsProps, "links"> & { item: ImportItemView }) {
  const { router } = useApp();
  const t = importsStrings.imports;
  const { outcome, reason, path, differs = 0, remarks = [] } = item;
  const isLinked = item.item === "session" && links === "sessions";
  const session = isLinked ? sessionId.safeParse(item.session).data : undefined;
  const name = revealInvisible(item.name);
  const kind = t.item[item.item] ?? item.item;
  const why = reason === undefined ? "" : `: ${t.reasons[reason] ?? reason}`;
  return (
    <li>
      <div className="import-text">
        <span className="quiet">
          {kind}, {t.outcomes[outcome] ?? outcome}
          {why}
        </span>
        <br />
        {session === undefined ? (
          <span dir="auto">{name}</span>
        ) : (
          <a {...linkProps(router, { kind: "session", id: session, at: null })} dir="auto">
            {name}
          </a>
        )}
        {path !== undefined && <Place path={path} />}
        {differs > 0 && <p>{t.differs(differs)}</p>}
        {remarks.length > 0 && (
          <ul className="import-remarks">
            {remarks.map((remark, index) => (
              <li key={index}>
                <span className="quiet">{t.outcomes[remark.outcome] ?? remark.outcome}: </span>
                <span dir="auto">{revealInvisible(remark.text)}</span> <Place path={remark.path} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </li>
  );
}

function Place({ path }: { readonly path: string }) {
  return (
    <span className="quiet import-place" dir="ltr">
      {revealInvisible(path)}
    </span>
  );
}
