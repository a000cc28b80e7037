import type { Client } from "@holdfast/client";
import type { RouteOutput, Routes } from "@holdfast/protocol";
import { type ReactNode, useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { linkProps } from "../router/router.ts";
import type { Route } from "../router/routes.ts";
import { strings } from "../strings/strings.ts";
import { withoutMarkdown } from "./plain-snippet.ts";
import { sessionTitle } from "./session-actions.ts";

type SearchOutput = RouteOutput<Routes["search"]>;
type Hit = SearchOutput["hits"][number];
type Answer = { readonly found: SearchOutput } | { readonly trouble: string } | null;

const debounceMs = 120;

/** Search hits grouped by session; each opens its conversation at that message. */
export function SearchResults({ text, onChosen }: { text: string; onChosen: () => void }) {
  const { client, router } = useApp();
  const answer = useSearch(client, text);
  if (answer === null) return null;
  if ("trouble" in answer) return <p className="list-message">{answer.trouble}</p>;
  const { hits } = answer.found;
  if (hits.length === 0) return <p className="list-message">{strings.sessions.noHits}</p>;
  const groups = [...Map.groupBy(hits, ({ sessionId }) => sessionId)];
  return (
    <div className="sessions hits">
      {answer.found["indexing"] === true && (
        <p className="list-message">{strings.sessions.indexing}</p>
      )}
      {groups.map(([id, sessionHits]) => (
        <section key={id}>
          <h2 className="list-heading" dir="auto">
            {sessionTitle({ title: sessionHits[0]?.title ?? null })}
          </h2>
          {sessionHits.map((hit) => {
            const link = linkProps(router, routeOfHit(hit, text.trim()), onChosen);
            return (
              <a key={hit.seq} className="hit" dir="auto" {...link}>
                {highlightHit(hit)}
              </a>
            );
          })}
        </section>
      ))}
    </div>
  );
}

export function routeOfHit(
  { sessionId: id, seq: at, alternative: version }: Pick<Hit, "sessionId" | "seq" | "alternative">,
  find: string,
): Route {
  return { kind: "session", id, at, find, ...(version !== undefined && { version }) };
}

/** The snippet is a piece of Markdown: its marks would only be in the way. */
export function highlightHit(hit: Pick<Hit, "snippet" | "marks" | "alternative">): ReactNode[] {
  const { snippet, marks } = withoutMarkdown(hit);
  const nodes: ReactNode[] = [];
  if (hit.alternative !== undefined)
    nodes.push(
      <span key="version" className="hit-version">
        {strings.sessions.otherVersion}
      </span>,
      " ",
    );
  let end = 0;
  for (const [from, to] of marks) {
    nodes.push(snippet.slice(end, from), <mark key={from}>{snippet.slice(from, to)}</mark>);
    end = to;
  }
  nodes.push(snippet.slice(end));
  return nodes;
}

/** Nothing is asked for an empty text. Debounced; the late answer to an earlier query is discarded. */
export function useSearch(client: Client, text: string): Answer {
  const [answer, setAnswer] = useState<Answer>(null);
  useEffect(() => {
    if (text.trim() === "") return;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const query = { q: text.slice(0, 200), limit: 60 };
      void client.search({ query }, { signal: leaving.signal }).then((result) => {
        if (leaving.signal.aborted) return undefined;
        setAnswer(result.ok ? { found: result.value } : { trouble: problemText(result.error) });
        return undefined;
      });
    }, debounceMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [client, text]);
  return answer;
}
