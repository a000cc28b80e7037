import type { Client } from "@holdfast/client";
import type { RouteOutput, Routes } from "@holdfast/protocol";
import { type ReactNode, useEffect, useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { linkProps } from "../router/router.ts";
import { strings } from "../strings/strings.ts";
import { sessionTitle } from "./session-actions.ts";

type SearchOutput = RouteOutput<Routes["search"]>;
type Hit = SearchOutput["hits"][number];
type Answer = { readonly found: SearchOutput } | { readonly trouble: string } | null;

const debounceMs = 120;

/** What holds these words: each hit opens its conversation at that message. */
export function SearchResults({ text, onChosen }: { text: string; onChosen: () => void }) {
  const { client, router } = useApp();
  const answer = useSearch(client, text);
  if (answer === null) return null;
  if ("trouble" in answer) return <p className="list-words">{answer.trouble}</p>;
  const { hits } = answer.found;
  if (hits.length === 0) return <p className="list-words">{strings.sessions.noHits}</p>;
  const groups = [...Map.groupBy(hits, ({ sessionId }) => sessionId)];
  return (
    <div className="sessions hits">
      {answer.found["indexing"] === true && (
        <p className="list-words">{strings.sessions.indexing}</p>
      )}
      {groups.map(([id, own]) => (
        <section key={id}>
          <h2 className="list-heading" dir="auto">
            {sessionTitle({ title: own[0]?.title ?? null })}
          </h2>
          {own.map((hit) => {
            const link = linkProps(router, { kind: "session", id, at: hit.seq }, onChosen);
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

function highlightHit({ snippet, marks }: Hit): ReactNode[] {
  const drawn: ReactNode[] = [];
  let at = 0;
  for (const [from, to] of marks) {
    drawn.push(snippet.slice(at, from), <mark key={from}>{snippet.slice(from, to)}</mark>);
    at = to;
  }
  drawn.push(snippet.slice(at));
  return drawn;
}

/** The newest question counts: an older answer that comes late is not shown. */
function useSearch(client: Client, text: string): Answer {
  const [answer, setAnswer] = useState<Answer>(null);
  useEffect(() => {
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
