# The course in a container, for one person or for JupyterHub; docs/hosts.md has the commands.
FROM python:3.12-slim-bookworm

RUN apt-get update \
 && apt-get install -y --no-install-recommends git make \
 && rm -rf /var/lib/apt/lists/*

# 1000 is the first user of most Linux machines: a folder of theirs can be mounted as my_lessons.
RUN useradd --create-home --uid 1000 learner
WORKDIR /srv/hiding-latency
RUN chown learner /srv/hiding-latency
USER learner
COPY --chown=learner . .

# With --build-arg EXTRA=cuda13 (or cuda12) also CuPy, for hosts with a GPU: while an image is built none is seen.
ARG EXTRA=none
RUN make install EXTRA=${EXTRA}

# For JupyterHub, which starts `jupyterhub-singleuser`; its version has to be that of the hub.
ARG JUPYTERHUB=5
RUN .venv/bin/python -m pip install --no-cache-dir "jupyterhub==${JUPYTERHUB}.*"
ENV PATH="/srv/hiding-latency/.venv/bin:${PATH}"

# A volume that is empty takes its owner from the folder that it covers.
RUN mkdir -p my_lessons

EXPOSE 8888
CMD ["make", "lab", "LAB=--ip=0.0.0.0 --no-browser"]
