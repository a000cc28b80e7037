import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const transport = new DefaultChatTransport({ api: "/ai/chat" });
const id = new URLSearchParams(location.search).get("chat") ?? "chat";

/** An application as the AI SDK's documentation has it: nothing in it knows of Holdfast. */
function App() {
  const [input, setInput] = useState("");
  const { messages, sendMessage, status, error, addToolApprovalResponse } = useChat({
    id,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return (
    <main data-status={status} data-error={error?.message ?? ""}>
      {messages.map((message) => (
        <article key={message.id} data-id={message.id} data-role={message.role}>
          {message.parts.map((part, index) => {
            if (part.type === "text") return <span key={index}>{part.text}</span>;
            if (part.type !== "dynamic-tool" || part.state !== "approval-requested") return null;
            const { id: approval } = part.approval;
            return (
              <button
                key={index}
                onClick={() => void addToolApprovalResponse({ id: approval, approved: true })}
              >
                Allow
              </button>
            );
          })}
        </article>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text: input });
          setInput("");
        }}
      >
        <input value={input} onChange={(event) => setInput(event.target.value)} />
      </form>
    </main>
  );
}

createRoot(document.getElementById("root") ?? document.body).render(<App />);
