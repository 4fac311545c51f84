#!/usr/bin/env python3
# metadata.py notice|safe|hostile - the metadata service of EC2, version 2, at 169.254.169.254: this
# spot machine has its notice, or not; or somebody else in its place. metadata.py azure: that of Azure,
# of a spot machine without a notice; metadata.py gcp|alibaba|tencent|volcengine: that of one that goes,
# at the address which that cloud has it at. Says "ready".
# SPDX-License-Identifier: Apache-2.0
import http.server
import sys
import time

TOKEN = "AQAEAL-x_y=="
SOON = time.time() + 3600
UTC = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(SOON))
SAYS = {"/latest/meta-data/instance-life-cycle": "spot",
        "/latest/meta-data/spot/instance-action":
            '{"action": "terminate", "time": "' + UTC + '"}'}

if sys.argv[1] == "safe":
    del SAYS["/latest/meta-data/spot/instance-action"]
# By kind: a header of each question, and the answers.
OTHERS = {
    "azure": ("Metadata", "true", {
        "/metadata/instance/compute/name?api-version=2021-02-01&format=text": "vm1",
        "/metadata/scheduledevents?api-version=2020-07-01": '{"DocumentIncarnation":1,"Events":[]}',
        "/metadata/instance/compute/priority?api-version=2021-02-01&format=text": "Spot"}),
    "gcp": ("Metadata-Flavor", "Google", {"/computeMetadata/v1/instance/preempted": "TRUE"}),
    "alibaba": ("X-aliyun-ecs-metadata-token", TOKEN, {
        "/latest/meta-data/instance/spot/termination-time": UTC}),
    "tencent": ("Host", "metadata.tencentyun.com", {
        "/latest/meta-data/payment/charge-type": "SPOTPAID",
        "/latest/meta-data/spot/termination-time":
            time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(SOON + 8 * 3600))}),
    "volcengine": ("Host", "100.96.0.96", {"/latest/spot_instance_termination_time": UTC}),
}
ADDRESSES = {"alibaba": "100.100.100.200", "tencent": "169.254.0.23", "volcengine": "100.96.0.96"}
HEADER, WANTED, SAYS = OTHERS.get(sys.argv[1], ("X-aws-ec2-metadata-token", TOKEN, SAYS))


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        cloud = "X-aliyun-ecs" if sys.argv[1] == "alibaba" else "X-aws-ec2"
        is_asked = self.path == "/latest/api/token" and \
            self.headers[cloud + "-metadata-token-ttl-seconds"] == "60"
        if sys.argv[1] == "hostile":
            self.reply(200, "x\r\nHost: elsewhere\r\n\x1b[31m")
        else:
            self.reply(200 if is_asked else 400, TOKEN)

    def do_GET(self):
        if self.headers[HEADER] != WANTED:
            self.reply(401, "")
        else:
            self.reply(200 if self.path in SAYS else 404, SAYS.get(self.path, ""))

    def reply(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass


ADDRESS = ADDRESSES.get(sys.argv[1], "169.254.169.254")
server = http.server.HTTPServer((ADDRESS, 80), Service)
print("ready", flush=True)
server.serve_forever()
