import { useState } from "react";
import { createRoot } from "react-dom/client";
import { useDocumentedChat } from "./documented-chat.tsx";

function App() {
  const [input, setInput] = useState("");
  const { messages, sendMessage, status } = useDocumentedChat();
  return (
    <main data-status={status}>
      {messages.map((message) => (
        <article key={message.id} data-id={message.id} data-role={message.role}>
          {message.parts.map((part, index) =>
            part.type === "text" ? <span key={index}>{part.text}</span> : null,
          )}
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
