figure => {
    const table = figure.querySelector("table"), [names, ...steps] = [...table.rows].map(row => [...row.cells].map(cell => cell.textContent));
    const panel = document.createElement("div"), result = document.createElement("p");
    const [back, next] = ["Back", "Next"].map(text => Object.assign(document.createElement("button"), {textContent: text, type: "button"}));
    const last = steps.length - 1;
    let now = 0;

    function show(step) {
        const before = steps[now];
        now = Math.max(0, Math.min(last, step));
        back.setAttribute("aria-disabled", now === 0);
        next.setAttribute("aria-disabled", now === last);
        result.textContent = `Step ${steps[now][0]} of ${steps.length}. ${steps[now].at(-1)}`;
        panel.replaceChildren(...names.slice(1, -1).map((name, cell) => {
            const box = document.createElement("div"), text = steps[now][cell + 1];
            box.append(Object.assign(document.createElement("strong"), {textContent: name}), document.createElement("br"));
            box.append(/FULL|EMPTY/.test(name) ? `${text} of 64${text === "64" ? ": opens" : ""}` : text);
            box.classList.toggle("wide", /producer|consumer/.test(name));
            box.classList.toggle("copied", text.startsWith("copy of"));
            box.classList.toggle("full", text.startsWith("k-tile"));
            box.classList.toggle("new", text !== before[cell + 1]);
            return box;
        }));
    }

    back.onclick = () => show(now - 1);
    next.onclick = () => show(now + 1);
    figure.addEventListener("keydown", event => {
        const step = {ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last}[event.key];
        if (step === undefined) return;
        event.preventDefault();
        show(step);
    });
    // In JupyterLab keys typed here are meant for the buttons, and for no cell.
    back.dataset.lmSuppressShortcuts = next.dataset.lmSuppressShortcuts = "true";
    panel.className = "now";
    figure.classList.add("live");
    figure.querySelector(".still").remove();
    result.setAttribute("role", "status");
    const all = document.createElement("details");
    all.append(Object.assign(document.createElement("summary"), {textContent: "All steps"}));
    table.replaceWith(back, next, result, panel, all);
    all.append(table);
    show(0);
}
