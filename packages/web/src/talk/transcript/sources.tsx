import type { Source } from "@holdfast/protocol";
import { Icon } from "../../ui/icons.tsx";
import { revealInvisible, webLink } from "../../ui/markdown/safe-text.ts";
import { strings } from "../../strings/strings.ts";

interface SourceListProps {
  readonly sources: readonly Source[];
  readonly shows: "titles" | "snippets";
}

/** The pages that a tool found or read. Everything in them is the web's. */
export function SourceList({ sources, shows }: SourceListProps) {
  return (
    <ol className="sources">
      {sources.map(({ url, title, snippet, date }, index) => {
        const link = webLink(url);
        return (
          <li key={index}>
            {link === null ? (
              <span dir="auto">{revealInvisible(title)}</span>
            ) : (
              <a
                href={link.href}
                title={link.href}
                target="_blank"
                rel="noopener noreferrer nofollow"
                dir="auto"
              >
                {revealInvisible(title)}
              </a>
            )}
            <span className="quiet">
              {[link?.host ?? "", date ?? ""].filter((part) => part !== "").join(" · ")}
            </span>
            {shows === "snippets" && snippet !== undefined && (
              <p className="quiet as-written" dir="auto">
                {revealInvisible(snippet)}
              </p>
            )}
          </li>
        );
      })}
    </ol>
  );
}

const maxNamedHosts = 3;

/** What an answer rests on, below it: closed, it names the hosts. */
export function TurnSources({ sources }: { sources: readonly Source[] }) {
  if (sources.length === 0) return null;
  const hosts = [...new Set(sources.flatMap(({ url }) => webLink(url)?.host ?? []))];
  const more = hosts.length - maxNamedHosts;
  return (
    <details className="fold turn-sources">
      <summary>
        <Icon name="link" />
        <span>{strings.talk.sources(sources.length)}</span>
        <span className="quiet">
          {hosts.slice(0, maxNamedHosts).join(", ")}
          {more > 0 && ` ${strings.talk.moreHosts(more)}`}
        </span>
      </summary>
      <SourceList sources={sources} shows="titles" />
    </details>
  );
}
